// The first question: what one wide matrix wins over one small matrix per head.
(() => {
  const { chart, format } = headroom;

  const cellsOf = (model, selection) => headroom.chosenByHeads(model, selection, (cell) => cell.wrapper);
  const headsOf = (cells) => headroom.distinct(cells, (cell) => cell.shape.heads);
  const waysOf = (cells) => headroom.distinct(cells, (cell) => cell.way)
    .map((way) => cells.find((cell) => cell.way === way))
    .sort((a, b) => headroom.theme.place(a.backend) - headroom.theme.place(b.backend)).map((cell) => cell.way);

  // Why the wrapper of some backends costs what their split does, as their records say.
  const packedTogether = (model) => {
    const names = headroom.distinct(model.timed.filter((cell) => cell.provenance?.heads === "packed together"),
      (cell) => cell.backend);
    return names.length === 0 ? "" : " " + names.join(" and ") + (names.length === 1 ? " packs" : " pack") +
      " the small matrices of all heads together, so the wrapper multiplies what split multiplies.";
  };

  // Colour and words of a field: blue or orange where there is a difference, grey where none can be shown.
  const lookOf = (view, { ratio, verdict }) => {
    if (verdict === "not distinguishable") return { fill: view.theme.unclear, text: view.theme.muted };
    if (verdict === "same") return { fill: view.theme.background, text: view.theme.text };
    return { fill: view.theme.ratio(ratio), text: view.theme.ratioText(ratio), bold: true };
  };

  headroom.charts.push({
    name: "split-over-wrapper",
    title: "What one wide matrix wins over one small matrix per head",
    uses: ["family", "tokens", "threads", "backends", "formulations"],
    empty: (model, selection) => cellsOf(model, selection).length === 0
      ? "no cell of this selection was measured with the wrapper of its backend as well; add --formulation wrapper,split"
      : chart.oneOf("number of heads", "--heads 1,12,48,96"),
    note: (model, selection) =>
      chart.tokensText(cellsOf(model, selection), selection) + ", " + selection.family + ", up to " +
      format.threads(selection.threads) + ": the time of one small matrix per head (wrapper) over that of one wide matrix. " +
      "Blue: the wide one is faster; orange: slower; no colour: the same; grey: not distinguishable; blank: not measured." +
      packedTogether(model),
    height: (model, selection) => 66 + 36 * Math.max(2, waysOf(cellsOf(model, selection)).length),

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      const heads = headsOf(cells).map(String);
      if (heads.length < 2) return null;
      const ways = waysOf(cells);
      const room = Math.min(14 + (view.narrow ? 6 : 7) * Math.max(...ways.map((way) => chart.shortName(way).length)),
        view.width / 3);
      const flat = { type: "category", axisTick: { show: false }, splitLine: { show: false } };
      const below = chart.axisBelow(view, "heads");
      const left = chart.axis(view, "");
      return {
        ...chart.base(view),
        grid: { left: room, right: 2, top: 8, bottom: 50 },
        xAxis: { ...below, ...flat, data: heads, axisLabel: { ...below.axisLabel, interval: 0 } },
        yAxis: { ...left, ...flat, data: ways, inverse: true, axisLabel: { ...left.axisLabel, formatter: chart.shortName,
          fontSize: view.narrow ? 11 : 12, width: room - 10, overflow: "truncate" } },
        tooltip: {
          ...chart.base(view).tooltip,
          formatter: ({ data: { cell } }) => chart.tip(cell.way + ", " + cell.shapeId, [
            format.times(cell.wrapper.ratio) + " as fast as the wrapper (" +
              format.interval(cell.wrapper, format.times) + ")",
            cell.wrapper.verdict, format.threads(cell.threads)]),
        },
        series: [{
          type: "custom", encode: { x: 0, y: 1 },
          data: cells.map((cell) => ({ value: [String(cell.shape.heads), cell.way, cell.wrapper.ratio], cell })),
          renderItem(params, api) {
            const { wrapper } = cells[params.dataIndex];
            const look = lookOf(view, wrapper);
            const [width, height] = api.size([1, 1]);
            const [x, y] = api.coord([api.value(0), api.value(1)]);
            const small = width < 34;
            return { type: "group", children: [
              { type: "rect", style: { fill: look.fill, stroke: view.theme.line, lineWidth: 1 },
                shape: { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2 } },
              { type: "text", silent: true, x, y, style: {
                text: width < 20 ? "" : width < 58 ? format.digits(wrapper.ratio, small ? 2 : 3) : format.times(wrapper.ratio),
                align: "center", verticalAlign: "middle", fill: look.text,
                font: (look.bold ? "600 " : "") + (small ? "10px " : "13px ") + view.theme.font } },
            ] };
          },
        }],
      };
    },

    table: (model, selection) => {
      const cells = cellsOf(model, selection);
      const ranks = chart.ranksColumn(cells);
      return {
        columns: [["backend"], ["formulation"], ...ranks.head, ["threads", 1], ["heads", 1], ["time", 1],
          ["over the wrapper", 1], ["95 % interval", 1], ["verdict"]],
        rows: cells.map((cell) => [
          cell.backend, cell.formulation, ...ranks.of(cell), cell.threads, cell.shape.heads,
          format.seconds(cell.time.median), format.times(cell.wrapper.ratio),
          format.interval(cell.wrapper, format.times), cell.wrapper.verdict,
        ]),
      };
    },
  });
})();
