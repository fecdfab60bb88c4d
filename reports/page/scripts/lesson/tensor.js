// A value of a lesson: its numbers, and the names of its places.
headroom.tensor = {
  number(entry) {
    return typeof entry === "number" ? entry : { "-inf": -Infinity, inf: Infinity }[entry] ?? NaN;
  },
  text(entry) {
    if (typeof entry !== "number") return entry;
    const text = entry.toFixed(4);
    return entry !== 0 && !/[1-9]/.test(text) ? entry.toExponential(1) : text;
  },
  tuple: (parts) => "(" + parts.join(", ") + (parts.length === 1 ? ",)" : ")"),
  names: (value) => headroom.tensor.tuple(value.axes.map((axis) => axis.name)),
  sizes: (value) => headroom.tensor.tuple(value.shape),
  axis: (value, name) => value.axes.findIndex((axis) => axis.name === name),
  label(value, axis, index) {
    const { name, labels } = value.axes[axis];
    if (labels) return labels[index];
    return { B: "sequence ", H: "head " }[name] ? { B: "sequence ", H: "head " }[name] + (index + 1) : String(index + 1);
  },
  // The last two axes as matrices, each with the places of the axes before.
  matrices(value) {
    const rank = value.shape.length;
    const cols = rank > 0 ? value.shape[rank - 1] : 1;
    const rows = rank > 1 ? value.shape[rank - 2] : 1;
    const list = [];
    for (let start = 0; start < value.data.length; start += rows * cols) {
      const places = [];
      let rest = start / (rows * cols);
      for (let axis = rank - 3; axis >= 0; --axis) {
        places.unshift(rest % value.shape[axis]);
        rest = Math.floor(rest / value.shape[axis]);
      }
      list.push({ rows, cols, places, at: (r, c) => value.data[start + r * cols + c] });
    }
    return list;
  },
  placeText: (value, places) =>
    places.map((index, axis) => headroom.tensor.label(value, axis, index)).join(", "),
};

headroom.svg = (name, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
