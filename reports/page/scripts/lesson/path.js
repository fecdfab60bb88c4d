// The shapes from x to y, each linked with its step.
headroom.drawPath = (lesson) => {
  const make = headroom.element;
  const stations = lesson.steps.flatMap((step, i) =>
    step.values.filter((value) => value.on_path).map((value) => ({ value, i })));
  return make("ol", { class: "path" }, ...stations.map(({ value, i }) => make("li", {},
    make("a", { href: "#step-" + (i + 1) }, make("strong", {}, lesson.steps[i].title),
      make("em", {}, value.name),
      make("span", { class: "shape" }, headroom.tensor.names(value)),
      make("span", { class: "shape sizes" }, headroom.tensor.sizes(value))))));
};
