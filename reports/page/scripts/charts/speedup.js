// Speed-up over naive by number of heads.
(() => {
  const { chart, format } = headroom;

  const cellsOf = (model, selection) => headroom.chosenByHeads(model, selection, (cell) => cell.baseline);

  headroom.charts.push({
    name: "speed-up-by-heads",
    title: "Speed-up over naive, by number of heads",
    uses: ["family", "tokens", "threads", "backends", "formulations"],
    empty: (model, selection) => cellsOf(model, selection).length === 0
      ? "no cell of this selection has a naive cell of the same shape and formulation"
      : chart.oneOf("number of heads", "--heads 1,12,96"),
    note: (model, selection) =>
      chart.tokensText(cellsOf(model, selection), selection) + ", " + selection.family + ", up to " +
      format.threads(selection.threads) + ". The baseline is naive with the same formulation on " +
      "one thread. Bars are 95 % confidence intervals; both axes are logarithmic.",
    height: () => 420,

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      const heads = headroom.distinct(cells, (cell) => cell.shape.heads);
      if (heads.length < 2) return null;
      const lines = headroom.lines(cells, (cell) => cell.shape.heads);
      const right = view.narrow ? 18 : chart.endRoom(lines.keys());
      const series = [];
      for (const [name, line] of lines) {
        series.push(chart.lineSeries(view, name, line.map((cell) => ({
          value: [cell.shape.heads, cell.baseline.ratio], cell,
        }))));
        series.push(chart.intervals(view, name, line.map((cell) =>
          [cell.shape.heads, cell.baseline.low, cell.baseline.high])));
      }
      series.push(chart.endLabels(view, lines, (cell) => [cell.shape.heads, cell.baseline.ratio]));
      const ticks = chart.thinned(heads, view.width - 60 - right);
      return {
        ...chart.base(view),
        legend: chart.legend(view, [...lines.keys()]),
        grid: { left: 58, right, top: 46, bottom: 50 },
        xAxis: chart.logAxis(view, "heads", ticks, String, { splitLine: { show: false } }),
        yAxis: chart.logAxis(view, "times as fast as " + model.baseline,
          chart.logTicks(cells.flatMap((cell) => [cell.baseline.low, cell.baseline.high])),
          (value) => value + " ×", { nameGap: 42 }),
        tooltip: { ...chart.base(view).tooltip, formatter: (item) => chart.cellTip(item.data.cell) },
        series,
      };
    },

    table: (model, selection) => {
      const cells = cellsOf(model, selection);
      const ranks = chart.ranksColumn(cells);
      return {
        columns: [["backend"], ["formulation"], ...ranks.head, ["threads", 1], ["heads", 1], ["time", 1],
          ["over the baseline", 1], ["95 % interval", 1], ["verdict"]],
        rows: cells.map((cell) => [
          cell.backend, cell.formulation, ...ranks.of(cell), cell.threads, cell.shape.heads,
          format.seconds(cell.time.median), format.times(cell.baseline.ratio),
          format.interval(cell.baseline, format.times), cell.baseline.verdict,
        ]),
      };
    },
  });
})();
