// Where the time of one pass goes.
(() => {
  const { chart, format } = headroom;
  const kPhases = [["qkv", "query, key, value"], ["attend", "attention"], ["output", "output"]];

  const total = (cell) => kPhases.reduce((sum, [key]) => sum + cell.phases[key], 0);

  const cellsOf = (model, selection) =>
    headroom.chosen(model, selection, (cell) =>
      cell.shapeId === selection.shape && cell.phases && total(cell) > 0)
      .sort((a, b) => b.time.median - a.time.median);

  headroom.charts.push({
    name: "phases",
    title: "Where the time goes",
    uses: ["shape", "threads", "backends", "formulations"],
    empty: "No cell of this selection has measured phases.",
    note: (model, selection) =>
      selection.shape + ", up to " + format.threads(selection.threads) +
      ". Shares of one pass; its time is on the right, the fastest on top.",
    height: (model, selection) => 92 + 30 * Math.max(2, cellsOf(model, selection).length),

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      if (cells.length === 0) return null;
      const bar = ([key, name], i) => ({
        name, type: "bar", stack: "time", barMaxWidth: 22,
        itemStyle: { color: view.theme.phases[i] },
        data: cells.map((cell) => ({ value: (100 * cell.phases[key]) / total(cell), cell })),
        label: {
          show: true, color: view.theme.phaseText[i], fontSize: 11,
          formatter: (item) => (item.value < 8 ? "" : item.value.toFixed(0) + " %"),
        },
      });
      return {
        ...chart.base(view),
        legend: {
          top: 0, left: 0, itemWidth: 14, itemHeight: 10, selectedMode: false,
          textStyle: { color: view.theme.text, fontSize: 12 },
        },
        grid: { left: view.narrow ? 100 : 128, right: 76, top: 36, bottom: 32 },
        xAxis: {
          ...chart.axis(view, ""), type: "value", max: 100,
          axisLabel: { color: view.theme.text, formatter: "{value} %" },
        },
        yAxis: [
          { ...chart.axis(view, ""), type: "category", data: cells.map(chart.cellName),
            axisTick: { show: false },
            axisLabel: { color: view.theme.text, fontSize: view.narrow ? 10 : 12, width: view.narrow ? 92 : 120, overflow: "truncate" } },
          { ...chart.axis(view, ""), type: "category", position: "right",
            data: cells.map((cell) => format.seconds(cell.time.median)),
            axisLine: { show: false }, axisTick: { show: false },
            axisLabel: { color: view.theme.text, interval: 0 } },
        ],
        tooltip: {
          ...chart.base(view).tooltip,
          formatter: ({ data: { cell } }) => chart.tip(chart.cellName(cell),
            kPhases.map(([key, name]) => name + ": " + format.seconds(cell.phases[key]) + ", " +
              format.percent(cell.phases[key] / total(cell)))),
        },
        series: kPhases.map(bar),
      };
    },

    table: (model, selection) => ({
      columns: [["cell"], ["query, key, value", 1], ["attention", 1], ["output", 1], ["one pass", 1]],
      rows: cellsOf(model, selection).map((cell) => [
        chart.cellName(cell), ...kPhases.map(([key]) => format.seconds(cell.phases[key])),
        format.seconds(cell.time.median),
      ]),
    }),
  });
})();
