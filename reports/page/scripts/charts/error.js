// The error of each result against the double-precision reference, relative to its limit.
(() => {
  const { chart, format } = headroom;

  // An exact result has no place on a logarithmic axis, so it is drawn at the bottom.
  const kFoot = 1e-4;
  const shareOf = ({ error }) => (error.bound_ratio === undefined ? error.nrmse : error.bound_ratio) / error.limit;
  const share = (cell) => Math.max(kFoot, shareOf(cell));
  const rowsOf = (cell) => {
    const rows = cell.checked_rows;
    return !rows || rows.checked >= rows.of ? "all rows" : rows.checked + " of " + rows.of + " rows";
  };
  const cellsOf = (model, selection) =>
    headroom.chosen(model, selection, (cell) => cell.error && cell.error.limit > 0);

  headroom.charts.push({
    name: "error-against-limit",
    title: "Error relative to its limit",
    uses: ["threads", "backends", "formulations"],
    folded: true,
    empty: () => "no cell of this selection was checked",
    note: () =>
      "All shapes. Normalised root-mean-square error against the double-precision reference, as a " +
      "share of the limit, over the rows that were checked; or, where each element has a bound of its own, the worst " +
      "element's share of that. A cell above the line would have failed and would have no time.",
    height: () => 380,

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      if (cells.length === 0) return null;
      const backends = headroom.distinct(cells, (cell) => cell.backend);
      const tokens = cells.map((cell) => Math.max(1, cell.tokens));
      const names = headroom.distinct(cells, (cell) => cell.way);
      const across = chart.logTicks(tokens.concat([1, 10]));
      return {
        ...chart.base(view),
        legend: { ...chart.legend(view, names), show: true, itemWidth: 11, itemHeight: 11 },
        grid: { left: 66, right: 18, top: 46, bottom: 50 },
        xAxis: chart.logAxis(view, chart.tokensName(cells), across, String, { splitLine: { show: false } }),
        yAxis: chart.logAxis(view, "share of the limit", chart.logTicks(cells.map(share).concat([1.5])),
          (value) => 100 * value + " %", { nameGap: 48 }),
        tooltip: {
          ...chart.base(view).tooltip,
          formatter: ({ data: { cell } }) => chart.tip(cell.id, [
            "nrmse " + format.scientific(cell.error.nrmse) + ", limit " + format.errorLimit(cell.error),
            format.percent(shareOf(cell)) + " of the limit",
            "checked on " + rowsOf(cell)]),
        },
        series: [
          { type: "line", silent: true, symbol: "none", data: [[across[0], 1], [across[across.length - 1], 1]],
            lineStyle: { color: view.theme.text, width: 1.5 },
            endLabel: { show: true, formatter: () => "limit", color: view.theme.text, align: "right",
              verticalAlign: "bottom", distance: 0, offset: [-4, -4] } },
          ...names.map((name) => ({
            ...chart.lineSeries(view, name, cells
              .filter((cell) => cell.way === name)
              .map((cell) => ({
                // Spread out, so that backends with the same error do not hide each other.
                value: [Math.max(1, cell.tokens) * 1.06 ** (backends.indexOf(cell.backend)), share(cell)],
                cell,
              }))),
            type: "scatter",
          })),
        ],
      };
    },

    table: (model, selection) => ({
      columns: [["cell"], ["nrmse", 1], ["limit", 1], ["of the limit", 1], ["max / rms", 1], ["checked on"]],
      rows: cellsOf(model, selection).map((cell) => [
        cell.id, format.scientific(cell.error.nrmse), format.errorLimit(cell.error), format.percent(shareOf(cell)),
        Number.isFinite(cell.error.max_over_rms) ? format.scientific(cell.error.max_over_rms) : "-", rowsOf(cell),
      ]),
    }),
  });
})();
