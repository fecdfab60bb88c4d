// Tables as elements. Text is inserted as text, whatever it contains.
headroom.element = (name, attributes, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};

headroom.tableElement = ({ columns, rows }, caption) => {
  const make = headroom.element;
  const alignment = columns.map(([, number]) => (number ? { class: "number" } : {}));
  // As the tables that the program writes: where columns have no room, each row becomes a list.
  const layout = columns.length > 7 ? "wide" : columns.length > 3 ? "middling" : undefined;
  return make("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": caption },
    make("table", { class: layout },
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...columns.map(([head], i) =>
        make("th", { scope: "col", ...alignment[i] }, head)))),
      make("tbody", {}, ...rows.map((row) =>
        make("tr", {}, ...row.map((cell, i) => make("td", { ...alignment[i], "data-head": columns[i][0] }, String(cell))))))));
};
