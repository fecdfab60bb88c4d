// Where the time of one pass goes.
(() => {
  const { chart, format } = headroom;
  const kPhases = [["qkv", "query, key, value"], ["attend", "attention"], ["output", "output"],
    ["sum", "sum of the ranks"]];

  // Of one rank, a cell has nothing to add up.
  const seconds = (cell, key) => cell.phases[key] || 0;
  const total = (cell) => kPhases.reduce((sum, [key]) => sum + seconds(cell, key), 0);
  const phasesOf = (cells) => kPhases.filter(([key]) => key !== "sum" || cells.some((cell) => cell.ranks > 1));

  const cellsOf = (model, selection) =>
    headroom.chosen(model, selection, (cell) =>
      cell.shapeId === selection.shape && cell.phases && total(cell) > 0)
      .sort((a, b) => b.time.median - a.time.median);

  headroom.charts.push({
    name: "phases",
    title: "Where the time goes",
    uses: ["shape", "threads", "backends", "formulations"],
    empty: () => "no cell of this selection has measured phases",
    note: (model, selection) =>
      selection.shape + ", up to " + format.threads(selection.threads) +
      ". Shares of one pass; its time is on the right, the fastest on top.",
    height: (model, selection) => 92 + 30 * Math.max(2, cellsOf(model, selection).length),

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      if (cells.length === 0) return null;
      const names = cells.map(chart.cellName);
      const letter = view.narrow ? 5.6 : 6.6;
      const longest = 8 + letter * Math.max(...names.map((name) => name.length));
      const room = Math.min(longest, view.width / (view.narrow ? 4 : 3));
      const kRight = 76;
      const bars = view.width - room - 8 - kRight;
      const bar = ([key, name], i) => ({
        name, type: "bar", stack: "time", barMaxWidth: 22,
        itemStyle: { color: view.theme.phases[i] },
        data: cells.map((cell) => ({ value: (100 * seconds(cell, key)) / total(cell), cell })),
        label: {
          show: true, color: view.theme.phaseText[i], fontSize: 11,
          formatter: (item) => (item.value / 100 * bars < 32 ? "" : item.value.toFixed(0) + " %"),
        },
      });
      return {
        ...chart.base(view),
        legend: {
          top: 0, left: 0, itemWidth: 14, itemHeight: 10, selectedMode: false,
          textStyle: { color: view.theme.text, fontSize: 12 },
        },
        grid: { left: room + 8, right: kRight, top: 36, bottom: 32 },
        xAxis: {
          ...chart.axis(view, ""), type: "value", max: 100,
          axisLabel: { color: view.theme.text, formatter: "{value} %" },
        },
        yAxis: [
          { ...chart.axis(view, ""), type: "category", data: names,
            axisTick: { show: false },
            axisLabel: { color: view.theme.text, fontSize: view.narrow ? 10 : 12, width: room, overflow: "truncate" } },
          { ...chart.axis(view, ""), type: "category", position: "right",
            data: cells.map((cell) => format.seconds(cell.time.median)),
            axisLine: { show: false }, axisTick: { show: false },
            axisLabel: { color: view.theme.text, interval: 0 } },
        ],
        tooltip: {
          ...chart.base(view).tooltip,
          formatter: ({ data: { cell } }) => chart.tip(chart.cellName(cell),
            phasesOf([cell]).map(([key, name]) => name + ": " + format.seconds(seconds(cell, key)) + ", " +
              format.percent(seconds(cell, key) / total(cell)))),
        },
        series: phasesOf(cells).map(bar),
      };
    },

    table: (model, selection) => {
      const cells = cellsOf(model, selection);
      const phases = phasesOf(cells);
      return {
        columns: [["cell"], ...phases.map(([, name]) => [name, 1]), ["one pass", 1]],
        rows: cells.map((cell) => [
          chart.cellName(cell), ...phases.map(([key]) => format.seconds(seconds(cell, key))),
          format.seconds(cell.time.median),
        ]),
      };
    },
  });
})();
