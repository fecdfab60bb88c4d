// Attention weights as heat maps, one per head. Small ones are tables, so that their numbers can be
// read and selected; large ones are pixels.
(() => {
  const make = headroom.element;
  const tensor = headroom.tensor;
  const kMostCells = 16;

  const nameOf = (value, axis, index) => tensor.label(value, axis, index);

  const tableMap = (value, matrix, most) => {
    const rank = value.shape.length;
    const cell = (r, c) => {
      const weight = tensor.number(matrix.at(r, c));
      const share = weight / most;
      const box = make("td", { title: `${nameOf(value, rank - 2, r)} listens to ${nameOf(value, rank - 1, c)}: ${tensor.text(matrix.at(r, c))}` },
        weight === 0 ? "0" : weight.toFixed(2));
      box.style.backgroundColor = `color-mix(in srgb, var(--accent) ${Math.round(share * 100)}%, var(--faint))`;
      box.style.color = share > 0.6 ? "var(--on-accent)" : "var(--text)";
      return box;
    };
    const places = (count) => Array.from({ length: count }, (_, i) => i);
    return make("div", { class: "map-box", tabindex: "0", role: "region", "aria-label": "attention weights" },
      make("table", { class: "map" },
        make("thead", {}, make("tr", {}, make("td", {}),
          ...places(matrix.cols).map((c) => make("th", { scope: "col" }, nameOf(value, rank - 1, c))))),
        make("tbody", {}, ...places(matrix.rows).map((r) => make("tr", {},
          make("th", { scope: "row" }, nameOf(value, rank - 2, r)),
          ...places(matrix.cols).map((c) => cell(r, c)))))));
  };

  const pixelMap = (value, matrix, most) => {
    const rank = value.shape.length;
    const canvas = make("canvas", { class: "map", width: matrix.cols, height: matrix.rows, role: "img",
      "aria-label": `attention weights of ${matrix.rows} tokens; the numbers are below, at their step` });
    const note = make("p", { class: "note map-note" });
    const paint = () => {
      const context = canvas.getContext("2d");
      context.clearRect(0, 0, matrix.cols, matrix.rows);
      context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
      for (let r = 0; r < matrix.rows; ++r) {
        for (let c = 0; c < matrix.cols; ++c) {
          context.globalAlpha = Math.max(0, Math.min(1, tensor.number(matrix.at(r, c)) / most)) || 0;
          context.fillRect(c, r, 1, 1);
        }
      }
    };
    canvas.addEventListener("pointermove", (event) => {
      const c = Math.min(matrix.cols - 1, Math.max(0, Math.floor(event.offsetX / canvas.clientWidth * matrix.cols)));
      const r = Math.min(matrix.rows - 1, Math.max(0, Math.floor(event.offsetY / canvas.clientHeight * matrix.rows)));
      note.textContent = `${nameOf(value, rank - 2, r)} listens to ${nameOf(value, rank - 1, c)}: ${tensor.text(matrix.at(r, c))}`;
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    paint();
    return make("div", {}, canvas, note);
  };

  const maps = (value) => {
    const most = Math.max(...value.data.map(tensor.number)) || 1;
    const draw = Math.max(...value.shape.slice(-2)) > kMostCells ? pixelMap : tableMap;
    // The heads of a sequence in one row.
    const sequences = new Map();
    for (const matrix of tensor.matrices(value)) {
      const sequence = matrix.places.length > 1 ? matrix.places[0] : 0;
      sequences.set(sequence, [...(sequences.get(sequence) || []), make("figure", {},
        make("figcaption", {}, tensor.placeText(value, matrix.places) || value.name), draw(value, matrix, most))]);
    }
    return [...sequences.values()].map((figures) => make("div", { class: "maps" }, ...figures));
  };

  // A control where a lesson has more than one value of this kind.
  headroom.drawHeads = (lesson) => {
    const found = lesson.steps.flatMap((step, i) => step.values.filter((value) => value.kind === "attention")
      .map((value) => ({ value, name: `${i + 1}. ${step.title}: ${value.name}` })));
    if (found.length === 0) return [];
    const place = make("div", {});
    const show = (index) => place.replaceChildren(...maps(found[index].value));
    const first = Math.max(0, found.findIndex(({ value }) => value.on_path));
    const note = make("p", { class: "note" }, "Each row is a token that listens, each column one that is listened to; " +
      "the stronger the colour, the more. Rows sum to 1, but for dropout.");
    show(first);
    if (found.length === 1) return [note, place];
    const list = make("select", { id: "choose-weights", onchange: () => show(list.selectedIndex) },
      ...found.map(({ name }) => make("option", {}, name)));
    list.selectedIndex = first;
    return [note, make("p", { class: "controls" }, make("label", { for: "choose-weights" }, "Show"), list), place];
  };
})();
