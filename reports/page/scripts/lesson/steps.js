// Every step with its text and its values, each beside its shape.
(() => {
  const make = headroom.element;
  const tensor = headroom.tensor;
  const kMostRows = 64, kMostCols = 64, kMostOpen = 80, kMostBeside = 8, kMostNarrow = 4;

  const columnsOf = (value) => value.shape[value.shape.length - 1] || 1;

  const valueTable = (value) => {
    const rank = value.shape.length;
    const cols = Math.min(kMostCols, rank > 0 ? value.shape[rank - 1] : 1);
    const body = [];
    const head = rank > 0 && value.axes[rank - 1].labels
      ? [make("thead", {}, make("tr", {}, make("th", {}), ...value.axes[rank - 1].labels.slice(0, cols)
        .map((label) => make("th", { scope: "col" }, label))))] : [];
    for (const matrix of tensor.matrices(value)) {
      if (matrix.places.length > 0) {
        body.push(make("tr", { class: "new-table" },
          make("th", { scope: "row", colspan: cols + 1 }, tensor.placeText(value, matrix.places))));
      }
      for (let r = 0; r < matrix.rows && body.length < kMostRows; ++r) {
        const named = rank > 1 && (value.axes[rank - 2].labels || value.axes[rank - 2].name === "H");
        body.push(make("tr", {}, make("th", { scope: "row" }, named ? tensor.label(value, rank - 2, r) : ""),
          ...Array.from({ length: cols }, (_, c) => make("td", {}, tensor.text(matrix.at(r, c))))));
      }
    }
    const cut = body.length >= kMostRows || (rank > 0 && cols < value.shape[rank - 1]);
    return [make("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": value.name },
      make("table", {}, ...head, make("tbody", {}, ...body))),
    ...(cut ? [make("p", { class: "note" }, "The first rows and columns; headroom explain --json has all.")] : [])];
  };

  const valueElement = (value) => {
    const details = make("details", { class: columnsOf(value) > kMostBeside ? "wide" : "" },
      make("summary", {}, value.name + " ", make("span", { class: "shape" },
        value.shape.length > 0 ? tensor.names(value) + " = " + tensor.sizes(value) : "")));
    const fill = () => { if (details.open && details.children.length === 1) details.append(...valueTable(value)); };
    details.addEventListener("toggle", fill);
    details.open = value.data.length <= kMostOpen;
    fill();
    return details;
  };

  const stepTable = ({ caption, columns, rows }) =>
    headroom.tableElement({ columns: columns.map((name) => [name]), rows }, caption);

  headroom.drawSteps = (lesson) => lesson.steps.map((step, i) =>
    make("div", { class: step.correction ? "step correction" : "step", id: "step-" + (i + 1) },
      make("h3", {}, `${i + 1}. ${step.title}`), make("p", {}, step.text),
      make("div", { class: step.values.some((value) => columnsOf(value) > kMostNarrow) ? "values broad" : "values" }, ...step.values.map(valueElement)),
      ...(step.table ? [stepTable(step.table)] : [])));
})();
