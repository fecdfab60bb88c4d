// Error against time: what each precision of a shape, and storing in fewer bits, costs and gives.
(() => {
  const { chart, format } = headroom;

  const shapeOf = (id) => id.split(" ")[0];
  const hasSeveral = (cells) => new Set(cells.map((cell) => cell.numbers)).size > 1;

  // The kernel's and that of storing, which at worst add up. A peer's distance to unrounded weights has both.
  const errorOf = (cell) => cell.peer && cell.stored ? cell.stored : cell.error.nrmse + (cell.stored || 0);
  const ofShape = (model, shape) => model.timed.filter((cell) =>
    shapeOf(cell.shapeId) === shape && cell.error && errorOf(cell) > 0);

  // The selected shape; where it has one kind of numbers, the first one that has several.
  const cellsOf = (model, selection) => {
    const wanted = model.timed.find((cell) => cell.shapeId === selection.shape);
    const candidates = (wanted ? [wanted] : []).concat(model.timed);
    for (const cell of candidates) {
      const cells = ofShape(model, shapeOf(cell.shapeId));
      if (hasSeveral(cells)) return cells;
    }
    return [];
  };

  const front = (cells) => cells.filter((cell) => cell.front)
    .sort((a, b) => a.time.median - b.time.median);

  const gainOf = (cell) => {
    if (!cell.overF32) return cell.front !== undefined && cell.numbers.startsWith("f32") ? "fastest f32" : "-";
    const clear = cell.overF32.verdict === "faster" || cell.overF32.verdict === "slower";
    return clear ? format.times(cell.overF32.ratio) + " as fast as f32 (" +
      format.interval(cell.overF32, format.times) + ")" : cell.overF32.verdict;
  };

  // What storing costs, if that was measured.
  const storingOf = (cell) => cell.stored === undefined ? [] : ["error of storing " + format.scientific(cell.stored),
    ...(cell.shift ? [format.share(cell.shift.moved) + " of rows have their largest weight elsewhere, KL divergence " +
      format.scientific(cell.shift.kl_divergence)] : [])];

  // Columns of the table for that, those that any cell has.
  const storingColumns = (cells) => {
    const columns = [
      ["error of storing", (cell) => cell.stored, format.scientific],
      ["maxima moved", (cell) => cell.shift?.moved, (share) => format.share(share)],
      ["KL", (cell) => cell.shift?.kl_divergence, format.scientific],
    ].filter(([, value]) => cells.some((cell) => value(cell) !== undefined));
    return {
      head: columns.map(([name]) => [name, 1]),
      of: (cell) => columns.map(([, value, say]) => value(cell) === undefined ? "-" : say(value(cell))),
    };
  };

  headroom.charts.push({
    name: "error-against-time",
    title: "Error against time: what each precision and fewer bits cost and give",
    uses: ["shape"],
    empty: () => "no shape was measured with several precisions, or stored in several ways; add --precision f32,bf16x3 or --weights-dtype f32,q8",
    note: (model, selection) => {
      const cells = cellsOf(model, selection);
      return (cells.length > 0 ? shapeOf(cells[0].shapeId) + ". " : "") +
        "Normalised root-mean-square error against the double-precision reference of what was given: the error of " +
        "storing in fewer bits is part of it, and each way to store has a mark of its own (w: weights, c: cache). " +
        "The line joins the Pareto front, each of it at its fastest: none other is both faster and at least as " +
        "exact. Errors within the limit of f32 count as equal, and so do times that cannot be distinguished.";
    },
    height: () => 400,

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      if (cells.length === 0) return null;
      const names = headroom.distinct(cells, (cell) => cell.way);
      const across = chart.logTicks(cells.map((cell) => cell.time.median));
      const up = chart.logTicks(cells.map(errorOf));
      const best = front(cells);
      return {
        ...chart.base(view),
        legend: { ...chart.legend(view, names), show: true, itemWidth: 11, itemHeight: 11 },
        grid: { left: 76, right: 70, top: 46, bottom: 50 },
        xAxis: chart.logAxis(view, "time of one pass", across,
          (value) => format.seconds(value).replace(/\.0+ /, " ")),
        yAxis: chart.logAxis(view, "nrmse, storing included", up, (value) => format.scientific(value), { nameGap: 60 }),
        tooltip: {
          ...chart.base(view).tooltip,
          formatter: ({ data }) => chart.tip(data.cell.id, [
            "nrmse of the kernel " + format.scientific(data.cell.error.nrmse) + ", limit " +
              format.errorLimit(data.cell.error), ...storingOf(data.cell),
            format.seconds(data.cell.time.median), gainOf(data.cell)]),
        },
        series: [
          { name: "Pareto front", type: "line", step: "end", symbol: "none", silent: true, z: 1,
            data: best.map((cell) => [cell.time.median, errorOf(cell)]),
            lineStyle: { color: view.theme.text, width: 1.5, type: "dashed" } },
          ...names.map((name) => ({
            ...chart.lineSeries(view, name, cells.filter((cell) => cell.way === name).map((cell) => ({
              value: [cell.time.median, errorOf(cell)], cell,
              // Where there is little room, the front alone.
              label: { show: cell.front || (cell.front !== undefined && !view.narrow), formatter: cell.numbers,
                position: "top", color: cell.front ? view.theme.text : view.theme.muted, fontWeight: cell.front ? 600 : 400 },
            }))),
            type: "scatter", symbolSize: 10, labelLayout: { moveOverlap: "shiftY" },
          })),
        ],
      };
    },

    table: (model, selection) => {
      const cells = cellsOf(model, selection);
      const storing = storingColumns(cells);
      return {
        columns: [["cell"], ["numbers"], ["nrmse", 1], ...storing.head, ["time", 1], ["beside f32"], ["on the front"]],
        rows: cells.map((cell) => [
          cell.id, cell.numbers, format.scientific(cell.error.nrmse), ...storing.of(cell),
          format.seconds(cell.time.median), gainOf(cell), cell.front ? "yes" : "",
        ]),
      };
    },
  });
})();
