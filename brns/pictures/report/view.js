"use strict";
// The view of the search: canvases of the data of view.py, a slider, buttons, keys and a tip.
(() => {
  const data = JSON.parse(document.querySelector("#view-data").textContent);
  const { scene, generations, panels } = data;
  const slider = document.querySelector("#generation");
  const play = document.querySelector("#play");
  const speed = document.querySelector("#speed");
  const told = document.querySelector("#told");
  const tip = document.querySelector("#tip");
  const root = document.documentElement;
  const MARGIN = { left: 52, right: 18, top: 8, bottom: 40 };
  const REACH = 12; // pixels from a point at which it is meant

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const ints = (text) => new Int32Array(bytes(text).buffer);
  const floats = (text) => new Float32Array(bytes(text).buffer);
  const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  const colors = bytes(scene.colors);
  const walls = scene.walls && new Image();
  const [width, height] = [0, 1].map((k) => scene.high[k] - scene.low[k]);

  for (const panel of panels) {
    for (const name of ["id", "born", "parent"]) panel[name] = ints(panel[name]);
    panel.solved = bytes(panel.solved);
    panel.place = floats(panel.place);
    panel.paths = panel.paths && floats(panel.paths);
    panel.rows = panel.rows.map(ints);
    panel.novelty = panel.novelty.map(floats);
    panel.maps = panel.map && panel.map.levels.map((text) => image(bytes(text), panel.map.cells));
  }

  /** Levels of novelty as an image. */
  function image(levels, cells) {
    const canvas = Object.assign(document.createElement("canvas"), { width: cells, height: cells });
    const pixels = new ImageData(cells, cells);
    for (const [k, level] of levels.entries()) {
      pixels.data.set(colors.subarray(4 * level, 4 * level + 4), 4 * k);
    }
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    return canvas;
  }

  /** Numbers for an axis, about four. */
  function ticks(low, high) {
    const raw = (high - low) / 4;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) {
      found.push(Number((k * step).toPrecision(6)));
    }
    return found;
  }

  const frames = [...document.querySelectorAll("#view figure")].map((figure, k) => ({
    panel: panels[k],
    canvas: figure.querySelector("canvas"),
    note: figure.querySelector(".ended"),
    points: [],
  }));

  function draw(frame) {
    const { panel, canvas } = frame;
    const now = Number(slider.value);
    const wide = canvas.clientWidth;
    const inner = wide - MARGIN.left - MARGIN.right;
    if (inner <= 0) return; // the page is not laid out yet
    const tall = (scene.square ? (inner * height) / width : inner) + MARGIN.top + MARGIN.bottom;
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${tall}px`;
    canvas.width = wide * ratio;
    canvas.height = tall * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const high = tall - MARGIN.top - MARGIN.bottom;
    const x = (value) => MARGIN.left + ((value - scene.low[0]) / width) * inner;
    const share = (value) => (value - scene.low[1]) / height;
    const y = (value) => MARGIN.top + (scene.down ? share(value) : 1 - share(value)) * high;
    const box = (left, right, low, top) => {
      const [one, other] = [y(low), y(top)];
      return [x(left), Math.min(one, other), x(right) - x(left), Math.abs(one - other)];
    };

    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left - 4, MARGIN.top - 4, inner + 8, high + 8);
    pen.clip();
    pen.imageSmoothingEnabled = false;
    if (panel.maps && panel.map.of[now] >= 0) {
      pen.drawImage(panel.maps[panel.map.of[now]], ...box(...panel.map.extent));
    }
    if (walls && walls.complete) pen.drawImage(walls, ...box(...scene.walls.extent));
    const rows = panel.rows[now];
    if (panel.paths) {
      pen.strokeStyle = "rgba(70, 130, 200, 0.4)";
      for (const row of rows) {
        pen.beginPath();
        for (let k = 0; k < panel.steps; k++) {
          const at = 2 * (row * panel.steps + k);
          pen.lineTo(x(panel.paths[at]), y(panel.paths[at + 1]));
        }
        pen.stroke();
      }
    }
    frame.points = [...rows].map((row, k) => ({
      row,
      x: x(panel.place[2 * row]),
      y: y(panel.place[2 * row + 1]),
      novelty: panel.novelty[now][k],
    }));
    const shown = Math.min(generations[now], panel.last);
    const [born, solved] = [color("--born"), color("--solved")];
    for (const point of frame.points) {
      pen.fillStyle = panel.born[point.row] === shown ? born : "#ffffff";
      pen.beginPath();
      pen.arc(point.x, point.y, 3.8, 0, 2 * Math.PI);
      pen.fill();
      ring(pen, point.x, point.y, 3.8, panel.solved[point.row] ? solved : "#1f2430", 1.4);
    }
    for (const [at, up, radius, , edge] of scene.areas) {
      ring(pen, x(at), y(up), (radius / width) * inner, "#ffffff", 4.5);
      ring(pen, x(at), y(up), (radius / width) * inner, edge, 2);
    }
    if (scene.start) {
      ring(pen, x(scene.start[0]), y(scene.start[1]), 6, "#ffffff", 4.5);
      ring(pen, x(scene.start[0]), y(scene.start[1]), 6, "#111111", 2);
    }
    pen.restore();

    pen.strokeStyle = color("--line");
    pen.strokeRect(MARGIN.left, MARGIN.top, inner, high);
    pen.fillStyle = color("--ink");
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    for (const value of ticks(scene.low[0], scene.high[0])) {
      pen.fillText(value, x(value), tall - 23);
    }
    pen.fillText(scene.axes[0], MARGIN.left + inner / 2, tall - 6);
    pen.textAlign = "right";
    for (const value of ticks(scene.low[1], scene.high[1])) {
      pen.fillText(value, MARGIN.left - 5, y(value) + 4);
    }
    pen.translate(12, MARGIN.top + high / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText(scene.axes[1], 0, 0);

    const over = generations[now] > panel.last;
    frame.note.textContent = over ? `ended after generation ${panel.last}` : "";
    canvas.classList.toggle("over", over);
  }

  function ring(pen, x, y, radius, edge, thick) {
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.lineWidth = thick;
    pen.strokeStyle = edge;
    pen.stroke();
  }

  function show() {
    told.textContent = `generation ${generations[slider.value]} of ${generations.at(-1)}`;
    slider.setAttribute("aria-valuetext", told.textContent);
    tip.hidden = true;
    frames.forEach(draw);
  }

  let timer = null;
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }
  function start() {
    if (Number(slider.value) === generations.length - 1) slider.value = 0;
    show();
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show();
      if (Number(slider.value) === generations.length - 1) stop();
    }, 1000 / Number(speed.value));
    play.textContent = "Pause";
  }
  play.addEventListener("click", () => (timer ? stop() : start()));
  speed.addEventListener("change", () => {
    if (timer) {
      stop();
      start();
    }
  });
  slider.addEventListener("input", () => {
    stop();
    show();
  });
  for (const [id, step] of [["before", -1], ["after", 1]]) {
    document.getElementById(id).addEventListener("click", () => go(step));
  }
  function go(step) {
    stop();
    slider.value = Number(slider.value) + step;
    show();
  }
  document.querySelector("#watched").addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.target.matches("input, select") || (!step && event.key !== " ")) return;
    if (event.key === " " && event.target.matches("button")) return; // presses the button itself
    event.preventDefault();
    if (step) go(step);
    else play.click();
  });

  for (const frame of frames) {
    frame.canvas.addEventListener("pointermove", (event) => {
      const { panel, points } = frame;
      const near = points
        .map((point) => {
          const far = Math.hypot(point.x - event.offsetX, point.y - event.offsetY);
          return { ...point, far };
        })
        .reduce((best, point) => (point.far < best.far ? point : best), { far: REACH });
      tip.hidden = near.row === undefined;
      if (tip.hidden) return;
      const k = near.row;
      const shown = Math.min(generations[slider.value], panel.last);
      tip.textContent = [
        `individual ${panel.id[k]}`,
        `born in ${panel.born[k]}`,
        `age ${shown - panel.born[k]}`,
        `parent ${panel.parent[k] < 0 ? "none" : panel.parent[k]}`,
        `novelty ${near.novelty.toPrecision(4)}`,
        `solves the task: ${panel.solved[k] ? "yes" : "no"}`,
        `(${panel.place[2 * k].toPrecision(4)}, ${panel.place[2 * k + 1].toPrecision(4)})`,
      ].join("\n");
      const right = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
      tip.style.left = `${Math.max(right, 4)}px`;
      tip.style.top = `${event.clientY + 14}px`;
    });
    frame.canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  }
  if (walls) {
    walls.addEventListener("load", show);
    walls.src = scene.walls.image;
  }
  new ResizeObserver(show).observe(document.querySelector("#view"));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
})();
