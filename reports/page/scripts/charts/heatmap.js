// Split against wrapper over heads and tokens, one backend at a time.
(() => {
  const { chart, format } = headroom;

  const cellsOf = (model, selection) =>
    headroom.chosen(model, {
      ...selection, backends: new Set([selection.versus]), formulations: new Set(["split"]),
    }, (cell) => cell.family === selection.family && cell.wrapper && cell.ranks === 1);

  const unclear = (cell) => !["faster", "slower"].includes(cell.wrapper.verdict);

  const hatch = (box, colour) => {
    let path = "";
    for (let start = box.x - box.height; start < box.x + box.width; start += 9) {
      const x1 = Math.max(start, box.x);
      const x2 = Math.min(start + box.height, box.x + box.width);
      const foot = box.y + box.height + start;
      if (x2 > x1) path += `M${x1} ${foot - x1}L${x2} ${foot - x2}`;
    }
    return { type: "path", silent: true, shape: { pathData: path || "M0 0" },
      style: { stroke: colour, lineWidth: 1, fill: "none" } };
  };

  headroom.charts.push({
    name: "split-against-wrapper",
    title: "Speed-up of split weights over the wrapper",
    uses: ["family", "versus", "threads"],
    empty: "No split cell of this selection has a wrapper cell of the same backend and threads.",
    note: (model, selection) =>
      (selection.versus ? selection.versus + ", " : "") + selection.family + ", up to " + format.threads(selection.threads) +
      ". Above 1 × (blue): one wide matrix is faster than one small matrix per head. Below (orange): it " +
      "is slower. Hatched: the same, or not distinguishable. Blank: not measured.",
    height: (model, selection) =>
      110 + 34 * Math.max(2, headroom.distinct(cellsOf(model, selection), (c) => c.tokens).length),

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      if (cells.length === 0) return null;
      const heads = headroom.distinct(cells, (cell) => cell.shape.heads).map(String);
      const tokens = headroom.distinct(cells, (cell) => cell.tokens).map(String);
      const flat = { type: "category", axisTick: { show: false }, splitLine: { show: false } };
      return {
        ...chart.base(view),
        grid: { left: 62, right: 12, top: 12, bottom: 50 },
        xAxis: { ...chart.axisBelow(view, "heads"), ...flat, data: heads },
        yAxis: { ...chart.axis(view, chart.tokensName(cells).replace(/ before.*/, ""), { nameGap: 44 }), ...flat,
          data: tokens },
        tooltip: {
          ...chart.base(view).tooltip,
          formatter: ({ data: { cell } }) => chart.tip(
            selection.versus + ", " + cell.shapeId, [
              format.times(cell.wrapper.ratio) + " as fast as the wrapper (" +
                format.interval(cell.wrapper, format.times) + ")",
              cell.wrapper.verdict, format.threads(cell.threads)]),
        },
        series: [{
          type: "custom", encode: { x: 0, y: 1 },
          data: cells.map((cell) => ({
            value: [String(cell.shape.heads), String(cell.tokens), cell.wrapper.ratio], cell,
          })),
          renderItem(params, api) {
            const cell = cells[params.dataIndex];
            const [width, height] = api.size([1, 1]);
            const [x, y] = api.coord([api.value(0), api.value(1)]);
            const box = { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2 };
            const ratio = cell.wrapper.ratio;
            const children = [{
              type: "rect", shape: box,
              style: { fill: view.theme.ratio(ratio), stroke: view.theme.line, lineWidth: 1 },
            }];
            if (unclear(cell)) children.push(hatch(box, view.theme.muted));
            children.push({
              type: "text", silent: true, x, y,
              style: {
                text: format.digits(ratio, width < 34 ? 2 : 3), align: "center", verticalAlign: "middle",
                fill: unclear(cell) ? view.theme.text : view.theme.ratioText(ratio),
                backgroundColor: unclear(cell) ? view.theme.background : undefined, padding: [1, 3],
                font: (width < 34 ? "10px " : "12px ") + view.theme.font,
              },
            });
            return { type: "group", children };
          },
        }],
      };
    },

    table: (model, selection) => ({
      columns: [["heads", 1], ["tokens", 1], ["threads", 1], ["split", 1], ["split over wrapper", 1],
        ["95 % interval", 1], ["verdict"]],
      rows: cellsOf(model, selection).map((cell) => [
        cell.shape.heads, format.tokens(cell), cell.threads, format.seconds(cell.time.median),
        format.times(cell.wrapper.ratio), format.interval(cell.wrapper, format.times),
        cell.wrapper.verdict,
      ]),
    }),
  });
})();
