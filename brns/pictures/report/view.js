"use strict";
// The interactive view of a report: one panel for each method, one slider for all of them.
(function () {
  const page = JSON.parse(document.getElementById("runs").textContent);
  const world = page.world;
  const slider = document.getElementById("generation");
  const play = document.getElementById("play");
  const generations = [...new Set(page.runs.flatMap((run) => run.generations))].sort((a, b) => a - b);
  slider.max = generations.length - 1;

  function bytes(text) {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  }
  for (const run of page.runs) {
    for (const name of ["place", "novelty"]) run[name] = new Float32Array(bytes(run[name]));
    for (const name of ["id", "parent", "born"]) run[name] = new Int32Array(bytes(run[name]));
    run.solved = new Uint8Array(bytes(run.solved));
    for (const map of run.maps) map.levels = new Uint8Array(bytes(map.levels));
  }

  const methods = [...new Set(page.runs.map((run) => run.method))];
  const panels = methods.map(function (method) {
    const runs = page.runs.filter((run) => run.method === method);
    const panel = document.createElement("section");
    panel.className = "panel";
    const header = document.createElement("header");
    const heading = document.createElement("h3");
    heading.textContent = method;
    const select = document.createElement("select");
    select.setAttribute("aria-label", "seed of " + method);
    runs.forEach((run, i) => select.add(new Option("seed " + run.seed, i)));
    const plot = document.createElement("div");
    plot.className = "plot";
    const state = document.createElement("div");
    state.className = "state";
    header.append(heading, select);
    panel.append(header, plot, state);
    document.getElementById("panels").append(panel);
    const view = { runs, select, plot, state };
    select.addEventListener("change", () => show(view));
    return view;
  });

  // The newest entry that is not later than the generation; the first where all are later.
  function newest(numbers, generation) {
    let at = 0;
    for (let i = 0; i < numbers.length && numbers[i] <= generation; i++) at = i;
    return at;
  }

  function number(value) {
    return Number(value.toPrecision(4)).toString();
  }

  function show(view) {
    const generation = generations[slider.value];
    const run = view.runs[view.select.value];
    const frame = newest(run.generations, generation);
    const shown = run.generations[frame];
    const css = getComputedStyle(document.documentElement);
    const ink = css.getPropertyValue("--ink").trim();
    const line = css.getPropertyValue("--line").trim();
    const card = css.getPropertyValue("--card").trim();
    const traces = [];
    let text = "population of generation " + shown;

    if (run.maps.length) {
      const map = run.maps[newest(run.maps.map((m) => m.generation), shown)];
      const n = page.cells;
      const z = [];
      for (let row = 0; row < n; row++) {
        z.push(Array.from(map.levels.subarray(row * n, (row + 1) * n), (v) => (v ? (v - 1) / 254 : null)));
      }
      const step = [(map.high[0] - map.low[0]) / n, (map.high[1] - map.low[1]) / n];
      traces.push({
        type: "heatmap", z, x0: map.low[0] + step[0] / 2, dx: step[0], y0: map.low[1] + step[1] / 2, dy: step[1],
        zmin: 0, zmax: 1, colorscale: "Viridis", hoverinfo: "skip",
        colorbar: {
          title: { text: "novelty, coloured by rank", side: "right" }, thickness: 12, outlinewidth: 0,
          tickvals: [0, 0.25, 0.5, 0.75, 1], ticktext: map.quarters.map((v) => Number(v.toPrecision(2)).toString()),
          tickfont: { color: ink },
        },
      });
      text += "; novelty after generation " + map.generation;
    }

    const x = [], y = [], ways = [], details = [], fill = [], edge = [];
    const mu = run.size, width = run.width, start = world.start || [];
    for (let i = frame * mu; i < (frame + 1) * mu; i++) {
      const at = i * width;
      if (width > 2) {
        const way = { x: start.slice(0, 1), y: start.slice(1) };
        for (let k = 0; k < width; k += 2) {
          way.x.push(run.place[at + k]);
          way.y.push(run.place[at + k + 1]);
        }
        ways.push(way);
      }
      x.push(run.place[at + width - 2]);
      y.push(run.place[at + width - 1]);
      const parent = run.parent[i] < 0 ? "none" : run.parent[i];
      details.push([shown, shown - run.born[i], parent, number(run.novelty[i]), run.id[i]]);
      fill.push(run.born[i] === shown ? "#ff9f1c" : "#ffffff");
      edge.push(run.solved[i] ? "#e6007e" : "#11141a");
    }
    if (width > 2) {
      const lines = { type: "scatter", mode: "lines", hoverinfo: "skip" };
      const all = { x: ways.flatMap((way) => [...way.x, null]), y: ways.flatMap((way) => [...way.y, null]) };
      const accent = css.getPropertyValue("--accent").trim();
      traces.push({ ...lines, ...all, line: { width: 1, color: accent }, opacity: 0.4 });
      view.pointed = traces.push({ ...lines, x: [], y: [], line: { width: 3, color: ink } }) - 1;
    }
    view.ways = ways;
    traces.push({
      type: "scatter", mode: "markers", x, y, customdata: details,
      marker: { size: 8, color: fill, line: { width: 1.3, color: edge } },
      hovertemplate:
        "<b>individual %{customdata[4]}</b><br>generation %{customdata[0]}<br>age %{customdata[1]}<br>" +
        "parent %{customdata[2]}<br>novelty %{customdata[3]}<br>(%{x:.4~g}, %{y:.4~g})<extra></extra>",
    });
    view.state.textContent = text + (run.last < generation ? " (the run's last)" : "");

    const axis = { color: ink, gridcolor: line, zeroline: false, showgrid: false, fixedrange: false };
    const layout = {
      // The same margins whatever stands beside a map: all panels have maps of one size.
      margin: { l: 52, r: run.maps.length ? 104 : 8, t: 8, b: 42, autoexpand: false }, showlegend: false, hovermode: "closest",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, family: "inherit", size: 12 },
      hoverlabel: { bgcolor: card, bordercolor: ink, font: { color: ink } },
      xaxis: { ...axis, title: { text: world.axes[0] }, range: [world.low[0], world.high[0]], constrain: "domain" },
      yaxis: {
        ...axis, title: { text: world.axes[1] }, constrain: "domain",
        range: world.down ? [world.high[1], world.low[1]] : [world.low[1], world.high[1]],
      },
      shapes: world.areas.map((area) => ({
        type: "circle", x0: area.x - area.radius, x1: area.x + area.radius,
        y0: area.y - area.radius, y1: area.y + area.radius, line: { color: area.color, width: 3 },
      })),
      images: [], uirevision: "zoom",
    };
    if (world.walls) {
      layout.yaxis.scaleanchor = "x";
      const [left, right, low, high] = world.walls_extent;
      layout.images.push({
        source: world.walls, xref: "x", yref: "y", x: left, y: world.down ? low : high, sizex: right - left,
        sizey: high - low, sizing: "stretch", xanchor: "left", yanchor: "top", layer: "above",
      });
    }
    if (world.start) {
      for (const [color, width] of [[card, 5.5], [ink, 2.5]]) {
        traces.push({
          type: "scatter", mode: "markers", x: [world.start[0]], y: [world.start[1]],
          hovertemplate: "start<extra></extra>", marker: { size: 11, symbol: "circle-open", color, line: { width } },
        });
      }
    }
    return Plotly.react(view.plot, traces, layout, { displayModeBar: false, responsive: true });
  }

  // The path of the individual that is pointed at stands out.
  function follow(view) {
    view.plot.on("plotly_hover", function (event) {
      const { curveNumber, pointNumber } = event.points[0];
      if (view.ways.length && curveNumber === view.pointed + 1) draw(view.ways[pointNumber]);
    });
    view.plot.on("plotly_unhover", () => view.ways.length && draw({ x: [], y: [] }));

    function draw(way) {
      return Plotly.restyle(view.plot, { x: [way.x], y: [way.y] }, [view.pointed]);
    }
  }

  function showAll() {
    document.getElementById("shown").textContent = "generation " + generations[slider.value];
    return Promise.all(panels.map(show));
  }

  let timer = null;
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
    play.setAttribute("aria-pressed", "false");
  }
  play.addEventListener("click", function () {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
    timer = setInterval(function () {
      if (slider.value === slider.max) return stop();
      slider.value = Number(slider.value) + 1;
      showAll();
    }, 200);
  });
  slider.addEventListener("input", showAll);
  document.addEventListener("theme", showAll);
  slider.value = slider.max;
  showAll().then(function () {
    panels.forEach(follow);
    document.body.dataset.ready = "yes";
  });
})();
