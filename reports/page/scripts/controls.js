// One set of controls for all charts, and `cells` for that of raw samples.
headroom.controls = (model, selection, changed) => {
  const make = headroom.element;
  const { format, distinct } = headroom;
  const timed = model.timed;

  const select = (label, key, options, parse) => {
    const list = make("select", { id: "choose-" + key, onchange: (event) => {
      selection[key] = parse(event.target.value);
      changed(key);
    } });
    const fill = (entries) => {
      list.replaceChildren(...entries.map(([value, text]) =>
        make("option", { value, selected: String(value) === String(selection[key]) }, text)));
    };
    fill(options());
    return { fill: () => fill(options()), element: make("label", { class: "control" }, label, list) };
  };

  const boxes = (label, key, names, id = key) => make("fieldset", { class: "control", id: "choose-" + id },
    make("legend", {}, label),
    ...names.map((name) => make("label", { class: "chip" },
      make("input", { type: "checkbox", value: name, checked: selection[key].has(name),
        onchange: (event) => {
          if (event.target.checked) selection[key].add(name);
          else selection[key].delete(name);
          changed(key);
        } }),
      key === "backends" ? headroom.swatch(name) : "", name)));

  const members = () => timed.filter((cell) => cell.families.includes(selection.family));
  const kNumbers = {
    tokens: [(cell) => cell.tokens, format.tokens],
    heads: [(cell) => cell.shape.heads, (cell) => String(cell.shape.heads)],
  };
  const numbers = (key) => () => {
    const [of, words] = kNumbers[key];
    return distinct(members(), of).map((value) => [value, words(members().find((cell) => of(cell) === value))]);
  };
  const text = (value) => value;

  const tokens = select("Tokens", "tokens", numbers("tokens"), Number);
  const heads = select("Heads", "heads", numbers("heads"), Number);
  const shapes = select("Shape", "shape", () =>
    distinct(timed, (cell) => cell.shapeId).map((id) => [id, id]), text);
  const cells = select("Cell", "cell", () => timed.filter((cell) => cell.shapeId === selection.shape)
    .map((cell) => [cell.id, headroom.chart.cellName(cell)]), text);
  const families = select("Family", "family", () =>
    model.families.map((name) => [name, name]), text);
  const threads = select("Threads", "threads", () =>
    distinct(timed, (cell) => cell.threads).map((count) => [count, "up to " + format.threads(count)]), Number);

  // Families differ in heads and tokens, shapes in cells, so the lists are filled again.
  const follow = (key) => {
    if (key === "family") {
      Object.assign(selection, headroom.startOf(model, selection.family));
      tokens.fill();
      heads.fill();
    }
    if (key === "shape") {
      selection.cell = undefined;
      cells.fill();
      const first = headroom.cellOf(model, selection);
      if (first) cells.element.querySelector("select").value = first.id;
    }
  };
  follow("shape");
  const named = (peer) => distinct(timed.filter((cell) => cell.peer === peer), (cell) => cell.backend);
  const peers = named(true);
  return {
    follow,
    element: make("form", { class: "controls", "aria-label": "What the charts show", autocomplete: "off",
      onsubmit: (event) => event.preventDefault() },
      boxes("Backends", "backends", named(false)),
      ...(peers.length > 0 ? [boxes("Other libraries", "backends", peers, "peers")] : []),
      boxes("Formulations", "formulations", distinct(timed, (cell) => cell.formulation)),
      threads.element, families.element, tokens.element, heads.element, shapes.element),
    cells: cells.element,
  };
};

// The colour of a backend in the charts.
headroom.swatch = (backend) => {
  const swatch = headroom.element("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.setProperty("--light", headroom.theme(false).colour(backend));
  swatch.style.setProperty("--dark", headroom.theme(true).colour(backend));
  return swatch;
};
