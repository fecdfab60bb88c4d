// Error against time: what each precision of a shape costs and gives.
(() => {
  const { chart, format } = headroom;

  const shapeOf = (id) => id.split(" ")[0];
  const hasSeveral = (cells) => new Set(cells.map((cell) => cell.precision)).size > 1;
  const ofShape = (model, shape, dtype) => model.timed.filter((cell) =>
    shapeOf(cell.shapeId) === shape && cell.dtype === dtype && cell.error && cell.error.nrmse > 0);

  // The selected shape; where it has one precision, the first one that has several.
  const cellsOf = (model, selection) => {
    const wanted = model.timed.find((cell) => cell.shapeId === selection.shape);
    const candidates = (wanted ? [wanted] : []).concat(model.timed);
    for (const cell of candidates) {
      const cells = ofShape(model, shapeOf(cell.shapeId), cell.dtype);
      if (hasSeveral(cells)) return cells;
    }
    return [];
  };

  const front = (cells) => cells.filter((cell) => cell.front)
    .sort((a, b) => a.time.median - b.time.median);

  const gainOf = (cell) => {
    if (!cell.overF32) return cell.front !== undefined && cell.precision === "f32" ? "fastest f32" : "-";
    const clear = cell.overF32.verdict === "faster" || cell.overF32.verdict === "slower";
    return clear ? format.times(cell.overF32.ratio) + " as fast as f32 (" +
      format.interval(cell.overF32, format.times) + ")" : cell.overF32.verdict;
  };

  headroom.charts.push({
    name: "error-against-time",
    title: "Error against time: what each precision costs and gives",
    uses: ["shape"],
    empty: "No shape was measured with several precisions.",
    note: (model, selection) => {
      const cells = cellsOf(model, selection);
      return (cells.length > 0 ? shapeOf(cells[0].shapeId) + ", " + cells[0].dtype + " stored. " : "") +
        "Normalised root-mean-square error against the double-precision reference. The line joins the " +
        "precisions of the Pareto front, each at its fastest: none other is both faster and at least as " +
        "exact. Errors within the limit of f32 count as equal, and so do times that cannot be distinguished.";
    },
    height: () => 400,

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      if (cells.length === 0) return null;
      const names = headroom.distinct(cells, (cell) => cell.way);
      const across = chart.logTicks(cells.map((cell) => cell.time.median));
      const up = chart.logTicks(cells.map((cell) => cell.error.nrmse));
      const best = front(cells);
      return {
        ...chart.base(view),
        legend: { ...chart.legend(view, names), show: true, itemWidth: 11, itemHeight: 11 },
        grid: { left: 76, right: 70, top: 46, bottom: 50 },
        xAxis: chart.logAxis(view, "time of one pass", across,
          (value) => format.seconds(value).replace(/\.0+ /, " ")),
        yAxis: chart.logAxis(view, "nrmse", up, (value) => format.scientific(value), { nameGap: 60 }),
        tooltip: {
          ...chart.base(view).tooltip,
          formatter: ({ data }) => chart.tip(data.cell.id, [
            "nrmse " + format.scientific(data.cell.error.nrmse) + ", limit " +
              format.scientific(data.cell.error.limit),
            format.seconds(data.cell.time.median), gainOf(data.cell)]),
        },
        series: [
          { name: "Pareto front", type: "line", step: "end", symbol: "none", silent: true, z: 1,
            data: best.map((cell) => [cell.time.median, cell.error.nrmse]),
            lineStyle: { color: view.theme.text, width: 1.5, type: "dashed" } },
          ...names.map((name) => ({
            ...chart.lineSeries(view, name, cells.filter((cell) => cell.way === name).map((cell) => ({
              value: [cell.time.median, cell.error.nrmse], cell,
              label: { show: Boolean(cell.front), formatter: cell.precision, position: "top",
                color: view.theme.text, fontWeight: 600 },
            }))),
            type: "scatter", symbolSize: 10, labelLayout: { moveOverlap: "shiftY" },
          })),
        ],
      };
    },

    table: (model, selection) => ({
      columns: [["cell"], ["precision"], ["nrmse", 1], ["time", 1], ["beside f32"], ["on the front"]],
      rows: cellsOf(model, selection).map((cell) => [
        cell.id, cell.precision, format.scientific(cell.error.nrmse), format.seconds(cell.time.median),
        gainOf(cell), cell.front ? "yes" : "",
      ]),
    }),
  });
})();
