// The speed-up with more threads, for one shape.
(() => {
  const { chart, format } = headroom;

  // Cells measured on several numbers of threads, each compared with its own on the fewest.
  const scaled = (model, selection) => {
    const cells = model.timed.filter((cell) =>
      cell.shapeId === selection.shape && selection.backends.has(cell.backend) &&
      selection.formulations.has(cell.formulation));
    const found = [];
    for (const [name, line] of headroom.lines(cells, (cell) => cell.threads)) {
      if (line.length < 2) continue;
      for (const cell of line) {
        const base = line[0];
        found.push({
          name, cell, base: base.threads, ratio: base.time.median / cell.time.median,
          // The widest range that both intervals allow.
          low: base.time.low / cell.time.high, high: base.time.high / cell.time.low,
        });
      }
    }
    return found;
  };

  headroom.charts.push({
    name: "thread-scaling",
    title: "Speed-up with more threads",
    uses: ["shape", "backends", "formulations"],
    empty: () => "no selected cell of this shape was measured on two numbers of threads; add --threads 1,2",
    note: (model, selection) =>
      selection.shape + ". The baseline is the same cell on its fewest threads. Bars: the widest range " +
      "that both 95 % confidence intervals allow. The grey line is perfect scaling." +
      (scaled(model, selection).some((item) => item.cell.cores)
        ? " Some threads had fewer cores than they were; the table names them." : ""),
    height: () => 360,

    draw(model, selection, view) {
      const found = scaled(model, selection);
      if (found.length === 0) return null;
      const threads = headroom.distinct(found, (item) => item.cell.threads);
      const names = headroom.distinct(found, (item) => item.name);
      const right = view.narrow ? 24 : chart.endRoom(names);
      const most = Math.max(...threads) / Math.min(...threads);
      const below = chart.axisBelow(view, "threads");
      const of = (name) => found.filter((item) => item.name === name);
      return {
        ...chart.base(view),
        legend: chart.legend(view, names),
        grid: { left: 56, right, top: 46, bottom: 50 },
        xAxis: { ...below, type: "value",
          min: threads[0], max: threads[threads.length - 1],
          axisTick: { customValues: threads }, axisLabel: { ...below.axisLabel, customValues: threads },
          splitLine: { show: false } },
        yAxis: { ...chart.axis(view, "times as fast as on " + format.threads(threads[0]), { nameGap: 40 }),
          type: "value", min: 0, max: Math.ceil(Math.max(most, ...found.map((item) => item.high)) * 2) / 2 },
        tooltip: { ...chart.base(view).tooltip, formatter: (item) => chart.cellTip(item.data.cell) },
        series: [
          { name: "perfect", type: "line", silent: true, symbol: "none",
            data: [[threads[0], 1], [threads[threads.length - 1], most]],
            lineStyle: { color: view.theme.line, width: 3 } },
          ...names.map((name) => chart.lineSeries(view, name, of(name).map((item) => ({
            value: [item.cell.threads, item.ratio], cell: item.cell })))),
          chart.endLabels(view, new Map(names.map((name) => [name, of(name)])),
            (item) => [item.cell.threads, item.ratio]),
          ...names.map((name) => chart.intervals(view, name, of(name).map((item) =>
            [item.cell.threads, item.low, item.high]))),
        ],
      };
    },

    table: (model, selection) => ({
      columns: [["cell"], ["threads", 1], ["time", 1], ["over the fewest threads", 1], ["range", 1]],
      rows: scaled(model, selection).map((item) => [
        item.name, chart.threadsText(item.cell), format.seconds(item.cell.time.median), format.times(item.ratio),
        format.interval(item, format.times),
      ]),
    }),
  });
})();
