// Wrapper and split side by side: their products as pictures, and their times on this machine.
(() => {
  const make = headroom.element;
  const svg = headroom.svg;
  const kKinds = ["query", "key", "value"];
  const kWidth = 300, kHeight = 96;

  // As many columns of weights for both; what differs is into how many products they are cut.
  // Where heads share keys, key and value have fewer columns than the query.
  const products = ({ heads, key_heads: keyHeads }, apart) => {
    const headsOf = (kind) => (kind === "query" ? heads : keyHeads);
    const productsOf = (kind) => (apart ? headsOf(kind) : 1);
    const parts = kKinds.flatMap((kind, k) => Array.from({ length: productsOf(kind) }, (_, i) => {
      const width = kWidth * headsOf(kind) / heads / productsOf(kind);
      return svg("rect", { class: kind, x: i * width, y: k * (kHeight / 3), width, height: kHeight / 3 - 4 });
    }));
    return svg("svg", { viewBox: `0 0 ${kWidth} ${kHeight}`, role: "img", "aria-label": "products: " +
      kKinds.map((kind) => `${productsOf(kind)} for the ${kind}`).join(", ") }, ...parts);
  };

  const picture = (name, counts, apart) => make("figure", {},
    make("figcaption", {}, make("strong", {}, name), `: ${headroom.format.count(counts[name], "product")}, ` +
      `${counts.multiply_adds.toLocaleString("en")} multiply-adds`), products(counts, apart));

  const legend = () => make("p", { class: "legend" }, ...kKinds.map((kind) => make("span", {},
    svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("rect", { class: kind, width: 10, height: 10 })),
    "weights of the " + kind)));

  const timesTable = (times) => headroom.tableElement({
    columns: [["backend"], ["wrapper", true], ["split", true], ["wrapper / split", true], ["95 % interval", true],
      ["split is"]],
    rows: times.backends.map((row) => {
      const [ratio, low, high] = row.speed_up;
      return [row.backend, headroom.format.seconds(row.wrapper_s), headroom.format.seconds(row.split_s),
        headroom.format.times(ratio), headroom.format.digits(low) + " to " + headroom.format.digits(high), row.verdict];
    }),
  }, times.caption);

  headroom.drawFormulations = (lesson) => {
    if (!lesson.products) return [];
    const parts = [
      make("p", { class: "note" }, "Each block is one matrix product with its part of the weights; all blocks of a colour " +
        "together are one matrix with d_in rows. Both give the same rows of y."),
      make("div", { class: "formulations" }, picture("wrapper", lesson.products, true),
        picture("split", lesson.products, false)),
      legend()];
    if (lesson.times.length > 0) {
      parts.push(make("p", { class: "note" }, "Measured on this machine (" + lesson.processor + "), a whole pass on one " +
        "thread. This lesson's layer is too small for a time to mean anything, so other layers are timed, which do equal " +
        "work with equal weights and differ only in the number of matrices. headroom sweep measures in the same way: each was " +
        "checked against the oracle first, then all were timed in random order, by several processes one after the other."),
        ...lesson.times.flatMap((times) => [timesTable(times), make("p", { class: "note findings" }, times.findings)]),
        make("p", { class: "note verdict-note" }, lesson.verdict_note));
    }
    return parts;
  };
})();
