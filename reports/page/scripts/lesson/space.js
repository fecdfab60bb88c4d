// Token embeddings in three dimensions, turned by pointer and arrow keys. A projection by hand: a few
// dozen points need neither WebGL nor another megabyte of library.
(() => {
  const svg = headroom.svg;
  const kWidth = 480, kHeight = 360, kStep = Math.PI / 18;
  const kStart = { turn: Math.PI - 0.6, tilt: 0.35 };

  // Directions of the largest spread, by power iteration on the covariance. They show more of
  // wide embeddings than any three of their columns.
  const components = (rows) => {
    const width = rows[0].length;
    const mean = rows[0].map((_, c) => rows.reduce((sum, row) => sum + row[c], 0) / rows.length);
    const centred = rows.map((row) => row.map((v, c) => v - mean[c]));
    const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
    const found = [];
    for (let k = 0; k < 3; ++k) {
      let axis = Array.from({ length: width }, (_, c) => Math.sin(1 + c * (k + 1)));
      for (let round = 0; round < 100; ++round) {
        for (const other of found) {
          const share = dot(axis, other);
          axis = axis.map((v, c) => v - share * other[c]);
        }
        const next = new Array(width).fill(0);
        for (const row of centred) {
          const share = dot(row, axis);
          row.forEach((v, c) => { next[c] += share * v; });
        }
        const length = Math.hypot(...next);
        if (length < 1e-12) break;
        axis = next.map((v) => v / length);
      }
      found.push(axis);
    }
    return centred.map((row) => found.map((axis) => dot(row, axis)));
  };

  const pointsOf = (value) => {
    const [matrix] = headroom.tensor.matrices(value);
    const rows = Array.from({ length: matrix.rows }, (_, r) =>
      Array.from({ length: matrix.cols }, (_, c) => headroom.tensor.number(matrix.at(r, c))));
    const spread = matrix.cols > 3;
    const points = spread ? components(rows) : rows.map((row) => [...row, 0, 0, 0].slice(0, 3));
    // One scale for all axes, so that angles stay; from the origin, unless it lies far outside.
    const low = [0, 1, 2].map((c) => Math.min(0, ...points.map((p) => p[c])));
    const high = [0, 1, 2].map((c) => Math.max(0, ...points.map((p) => p[c])));
    const size = Math.max(...high.map((v, c) => v - low[c])) || 1;
    const middle = low.map((v, c) => (v + high[c]) / 2);
    const scaled = (p) => p.map((v, c) => (v - middle[c]) / size * 2);
    return { spread, points: points.map(scaled), low: scaled(low), high: scaled(high), origin: scaled([0, 0, 0]) };
  };

  // Seen from above by the tilt, from a distance of some widths of the scene.
  const projection = ({ turn, tilt }) => ([x, y, z]) => {
    const kEye = 6, kScale = 100;
    const across = x * Math.cos(turn) + y * Math.sin(turn);
    const away = -x * Math.sin(turn) + y * Math.cos(turn);
    const up = z * Math.cos(tilt) + away * Math.sin(tilt);
    const distance = away * Math.cos(tilt) - z * Math.sin(tilt);
    const scale = kScale * kEye / (kEye + distance);
    return [kWidth / 2 + across * scale, kHeight / 2 - up * scale, distance];
  };

  // Labels of points that lie close together are pushed apart.
  const labelHeights = (places) => {
    const kLine = 14, kReach = 70;
    const sorted = places.map((to, i) => ({ i, x: to[0], y: to[1] + 5 })).sort((a, b) => a.y - b.y);
    sorted.forEach((label, k) => {
      for (const above of sorted.slice(0, k)) {
        if (Math.abs(above.x - label.x) < kReach && label.y - above.y < kLine) label.y = above.y + kLine;
      }
    });
    return sorted.reduce((heights, label) => Object.assign(heights, { [label.i]: label.y }), {});
  };

  const line = (kind, from, to) => svg("line", { class: kind, x1: from[0], y1: from[1], x2: to[0], y2: to[1] });

  const draw = (drawing, scene, labels, names, view) => {
    const at = projection(view);
    const floor = (p) => at([p[0], p[1], scene.low[2]]);
    const { low, high, origin } = scene;
    const corners = [[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]];
    const parts = [svg("polygon", { class: "floor", points: corners.map((c) => floor(c).slice(0, 2).join()).join(" ") })];
    names.forEach((name, c) => {
      const end = origin.map((v, i) => (i === c ? high[c] + 0.15 : v));
      const start = origin.map((v, i) => (i === c ? low[c] : v));
      parts.push(line("axis", at(start), at(end)));
      const [x, y] = at(end);
      parts.push(svg("text", { class: "axis-name", x, y: y - 5, "text-anchor": "middle" }, name));
    });
    const points = scene.points.map((p, i) => ({ p, i, to: at(p) })).sort((a, b) => b.to[2] - a.to[2]);
    const heights = labelHeights(scene.points.map(at));
    for (const { p, i, to } of points) {
      parts.push(line("drop", to, floor(p)));
      parts.push(svg("circle", { cx: to[0], cy: to[1], r: 5.5 - to[2] }));
      parts.push(svg("text", { x: to[0] + 10, y: heights[i] }, labels[i]));
    }
    drawing.replaceChildren(...parts);
  };

  const listen = (drawing, view, redraw) => {
    let last = null;
    const turnBy = (turn, tilt) => {
      view.turn += turn;
      view.tilt = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, view.tilt + tilt));
      redraw();
    };
    drawing.addEventListener("pointerdown", (event) => {
      last = event;
      drawing.setPointerCapture(event.pointerId);
      drawing.classList.add("turning");
    });
    drawing.addEventListener("pointermove", (event) => {
      if (!last) return;
      turnBy((event.clientX - last.clientX) * 0.01, (event.clientY - last.clientY) * 0.01);
      last = event;
    });
    for (const end of ["pointerup", "pointercancel"]) {
      drawing.addEventListener(end, () => { last = null; drawing.classList.remove("turning"); });
    }
    drawing.addEventListener("keydown", (event) => {
      const turns = { ArrowLeft: [-kStep, 0], ArrowRight: [kStep, 0], ArrowUp: [0, -kStep], ArrowDown: [0, kStep] };
      if (event.key === "Home") Object.assign(view, kStart);
      else if (!turns[event.key]) return;
      event.preventDefault();
      turnBy(...(turns[event.key] || [0, 0]));
    });
  };

  headroom.drawSpace = (value) => {
    const make = headroom.element;
    const tokens = headroom.tensor.axis(value, "T");
    const labels = Array.from({ length: value.shape[tokens] }, (_, i) => headroom.tensor.label(value, tokens, i));
    const scene = pointsOf(value);
    const names = [1, 2, 3].map((c) => (scene.spread ? "component " : "number ") + c);
    const drawing = svg("svg", { class: "space", viewBox: `0 0 ${kWidth} ${kHeight}`, tabindex: "0", role: "img",
      "aria-label": "Embeddings in three dimensions: " + labels.join(", ") + ". Arrow keys turn the picture, Home turns it back." });
    const view = { ...kStart };
    const redraw = () => draw(drawing, scene, labels, names, view);
    listen(drawing, view, redraw);
    redraw();
    return [make("p", { class: "note" }, (scene.spread
      ? "The three directions in which the embeddings of width " + value.shape[value.shape.length - 1] + " differ most. "
      : "Each token at the place that its numbers say. ") + "Drag to turn, or use the arrow keys; Home turns it back."), drawing];
  };
})();
