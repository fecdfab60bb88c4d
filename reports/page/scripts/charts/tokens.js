// Time and GFLOP/s by number of tokens.
(() => {
  const { chart, format } = headroom;

  const cellsOf = (model, selection) =>
    headroom.chosen(model, selection, (cell) =>
      cell.families.includes(selection.family) && cell.shape.heads === selection.heads && cell.tokens > 0);

  headroom.charts.push({
    name: "time-by-tokens",
    title: "Time and rate, by number of tokens",
    uses: ["family", "heads", "threads", "backends", "formulations"],
    empty: (model, selection) => cellsOf(model, selection).length === 0 ? "no cell of this selection has a time"
      : cellsOf(model, selection).every((cell) => cell.shape.past > 0)
        ? chart.oneOf("number of tokens in the cache", "--past 128,1024")
        : chart.oneOf("number of tokens", "--tokens 1,16,128"),
    note: (model, selection) =>
      format.count(selection.heads, "head") + ", " + selection.family + ", up to " + format.threads(selection.threads) +
      ". Bars are 95 % confidence intervals; all axes are logarithmic.",
    height: () => 620,

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      const tokens = headroom.distinct(cells, (cell) => cell.tokens);
      if (tokens.length < 2) return null;
      const lines = headroom.lines(cells, (cell) => cell.tokens);
      const right = view.narrow ? 18 : chart.endRoom(lines.keys());
      const rate = (cell, seconds) => (cell.gflops * cell.time.median) / seconds;
      const ticks = chart.thinned(tokens, view.width - 74 - right);
      const x = (gridIndex, name) => ({
        ...chart.logAxis(view, name, ticks, String, { splitLine: { show: false } }), gridIndex,
      });
      const series = [];
      for (const [name, line] of lines) {
        const point = (y) => line.map((cell) => ({ value: [cell.tokens, y(cell)], cell }));
        const second = { xAxisIndex: 1, yAxisIndex: 1 };
        series.push(chart.lineSeries(view, name, point((cell) => cell.time.median)));
        series.push(chart.intervals(view, name, line.map((cell) =>
          [cell.tokens, cell.time.low, cell.time.high])));
        series.push(chart.lineSeries(view, name, point((cell) => cell.gflops), second));
        series.push(chart.intervals(view, name, line.map((cell) =>
          [cell.tokens, rate(cell, cell.time.high), rate(cell, cell.time.low)]), second));
      }
      series.push(
        chart.endLabels(view, lines, (cell) => [cell.tokens, cell.time.median]),
        chart.endLabels(view, lines, (cell) => [cell.tokens, cell.gflops], { xAxisIndex: 1, yAxisIndex: 1 }));
      return {
        ...chart.base(view),
        legend: chart.legend(view, [...lines.keys()]),
        grid: [
          { left: 74, right, top: 46, height: 225, outerBoundsMode: "none" },
          { left: 74, right, top: 330, height: 230, outerBoundsMode: "none" },
        ],
        xAxis: [x(0, ""), x(1, chart.tokensName(cells))],
        yAxis: [
          chart.logAxis(view, "time of one pass",
            chart.logTicks(cells.flatMap((cell) => [cell.time.low, cell.time.high])),
            (value) => format.seconds(value).replace(/\.0+ /, " "), { nameGap: 56 }),
          { ...chart.logAxis(view, "GFLOP/s", chart.logTicks(cells.flatMap((cell) =>
            [rate(cell, cell.time.high), rate(cell, cell.time.low)])), String,
            { nameGap: 56 }), gridIndex: 1 },
        ],
        tooltip: { ...chart.base(view).tooltip, formatter: (item) => chart.cellTip(item.data.cell) },
        series,
      };
    },

    table: (model, selection) => {
      const cells = cellsOf(model, selection);
      const ranks = chart.ranksColumn(cells);
      return {
        columns: [["backend"], ["formulation"], ...ranks.head, ["threads", 1], ["tokens", 1], ["time", 1],
          ["95 % interval", 1], ["GFLOP/s", 1]],
        rows: cells.map((cell) => [
          cell.backend, cell.formulation, ...ranks.of(cell), cell.threads, format.tokens(cell),
          format.seconds(cell.time.median), format.interval(cell.time, format.seconds),
          format.digits(cell.gflops),
        ]),
      };
    },
  });
})();
