"use strict";
// A figure's curves tell their values where the pointer is. Places are in the units of the picture's view box.
(function () {
  const figures = JSON.parse(document.getElementById("curves").textContent);
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  function number(value) {
    return Number(value.toPrecision(3)).toString();
  }

  // The row of a line at the generation that is nearest.
  function nearest(line, x) {
    let best = 0;
    line.x.forEach((value, i) => { if (Math.abs(value - x) < Math.abs(line.x[best] - x)) best = i; });
    return best;
  }

  function told(panel, x) {
    const generations = panel.lines.map((line) => line.x[nearest(line, x)]);
    const at = generations.reduce((a, b) => (Math.abs(b - x) < Math.abs(a - x) ? b : a));
    tip.replaceChildren(panel.axis + " " + at);
    for (const line of panel.lines) {
      const row = line.x.indexOf(at);
      if (row < 0) continue;
      const mark = document.createElement("i");
      mark.style.background = line.color;
      tip.append("\n", mark, line.label + "  ", Object.assign(document.createElement("b"), { textContent: number(line.y[row]) }));
    }
    return at;
  }

  for (const [name, panels] of Object.entries(figures)) {
    const svg = document.querySelector("#figure-" + name + " svg");
    const guide = document.createElementNS("http://www.w3.org/2000/svg", "line");
    guide.setAttribute("stroke", "currentColor");
    guide.setAttribute("stroke-width", "0.6");
    guide.style.display = "none";
    svg.append(guide);
    function hide() {
      tip.hidden = true;
      guide.style.display = "none";
    }
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", function (event) {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const panel = panels.find(({ box: [left, top, right, bottom] }) => left <= at.x && at.x <= right && top <= at.y && at.y <= bottom);
      if (!panel) return hide();
      const [left, top, right, bottom] = panel.box, [low, high] = panel.limits;
      const x = told(panel, low + ((at.x - left) / (right - left)) * (high - low));
      const place = left + ((x - low) / (high - low)) * (right - left);
      for (const [key, value] of Object.entries({ x1: place, x2: place, y1: top, y2: bottom })) guide.setAttribute(key, value);
      guide.style.display = "";
      tip.hidden = false;
      const beside = event.clientX + 16 + tip.offsetWidth < innerWidth ? event.clientX + 16 : event.clientX - 16 - tip.offsetWidth;
      tip.style.left = beside + "px";
      tip.style.top = event.clientY + 16 + "px";
    });
  }
})();
