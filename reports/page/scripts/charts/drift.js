// How the machine behaved while the cells were measured.
(() => {
  const { chart, format } = headroom;

  const middle = (values) => {
    const sorted = [...values].sort((a, b) => a - b);
    const half = Math.floor(sorted.length / 2);
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };

  const linesOf = (model) => {
    const lines = new Map();
    model.measured.forEach((cell, place) => {
      if (!cell.control) return;
      // Other ranks may spin beside the control.
      const name = format.threads(cell.control.threads) + (cell.ranks > 1 ? " beside " + (cell.ranks - 1) + " other ranks" : "");
      if (!lines.has(name)) lines.set(name, []);
      lines.get(name).push({ place: place + 1, cell, gflops: middle(cell.control.gflops) });
    });
    for (const line of lines.values()) {
      const usual = middle(line.map((item) => item.gflops));
      for (const item of line) item.off = 100 * (item.gflops / usual - 1);
    }
    return lines;
  };

  const twice = (model) => model.measured
    .map((cell, place) => ({ place: place + 1, cell }))
    .filter((item) => item.cell.again);

  headroom.charts.push({
    name: "drift",
    title: "Noise and drift during the measurement",
    uses: [],
    folded: true,
    empty: () => "no control was measured with these cells",
    note: (model) =>
      "Lines: the multiply-add rate beside each cell relative to its median, in the order in which cells " +
      "finished. Diamonds: two timings of the same layer (A/A). Band: " +
      (model.noiseFloor > 0 ? "the noise floor, " + format.percent(model.noiseFloor) + "."
        : "3 %, because no noise floor was measured."),
    height: () => 320,

    draw(model, selection, view) {
      const lines = linesOf(model);
      if (lines.size === 0) return null;
      const band = 100 * model.margin;
      const looks = ["solid", "dashed", "dotted"];
      return {
        ...chart.base(view),
        legend: { type: "scroll", top: 0, left: 0, itemWidth: 26, textStyle: { color: view.theme.text, fontSize: 12 },
          pageTextStyle: { color: view.theme.text }, pageIconColor: view.theme.muted },
        grid: { left: 62, right: 18, top: 40, bottom: 50 },
        xAxis: { ...chart.axisBelow(view, "cells in the order in which they finished"), type: "value",
          min: 1, max: Math.max(...[...lines.values()].flat().map((item) => item.place)), splitLine: { show: false } },
        yAxis: { ...chart.axis(view, "difference from the median", { nameGap: 46 }), type: "value",
          axisLabel: { color: view.theme.text, formatter: "{value} %" } },
        tooltip: {
          ...chart.base(view).tooltip,
          formatter: ({ data }) => chart.tip(data.item.cell.id, [
            (data.value[1] >= 0 ? "+" : "") + data.value[1].toFixed(1) + " %"]),
        },
        series: [
          ...[...lines].map(([name, line], i) => ({
            name: "control, " + name, type: "line", symbolSize: 4, symbol: "circle",
            data: line.map((item) => ({ value: [item.place, item.off], item })),
            lineStyle: { width: 1.5, type: looks[i % looks.length], color: view.theme.phases[i % 2] },
            itemStyle: { color: view.theme.phases[i % 2] },
            markArea: i > 0 ? undefined : { silent: true,
              itemStyle: { color: view.theme.muted, opacity: 0.12 },
              data: [[{ yAxis: -band }, { yAxis: band }]] },
          })),
          { name: "A/A", type: "scatter", symbol: "diamond", symbolSize: 11,
            itemStyle: { color: view.theme.alarm },
            data: twice(model).map((item) => ({
              value: [item.place, 100 * (item.cell.again.ratio - 1)], item })) },
        ],
      };
    },

    table: (model) => ({
      columns: [["order", 1], ["cell"], ["control, GFLOP/s", 1], ["difference from the median", 1], ["A/A", 1]],
      rows: [...linesOf(model).values()].flat().sort((a, b) => a.place - b.place).map((item) => [
        item.place, item.cell.id, format.digits(item.gflops, 4), item.off.toFixed(1) + " %",
        item.cell.again ? (100 * (item.cell.again.ratio - 1)).toFixed(1) + " %" : "",
      ]),
    }),
  });
})();
