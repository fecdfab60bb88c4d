// Every cell under the measured roofs of the machine (roofline model).
(() => {
  const { chart, format } = headroom;

  const cellsOf = (model, selection) =>
    headroom.chosen(model, selection, (cell) => cell.intensity > 0);

  // The rates of products of less than f32, by the names of their precisions.
  const productsOf = (model, threads) =>
    Object.entries(model.peaks.gflops_by_precision_and_threads || {})
      .map(([name, rates]) => ({ name, rate: rates[threads] })).filter((product) => product.rate > 0);

  const roofsOf = (model) => {
    const fma = model.peaks.fma_gflops_by_threads || {};
    const read = model.peaks.read_gb_per_s_by_threads || {};
    const tile = model.peaks.tile_gflops_by_threads || {};
    return Object.keys(fma).filter((threads) => fma[threads] > 0 && read[threads] > 0)
      .map((threads) => ({
        threads: Number(threads), fma: fma[threads], read: read[threads], tile: tile[threads],
        products: productsOf(model, threads),
      }));
  };

  const roofText = (roof) => format.threads(roof.threads) + ": multiply-adds " + format.digits(roof.fma) +
    (roof.tile > 0 ? ", tiles " + format.digits(roof.tile) : "") + " GFLOP/s, memory read " +
    format.digits(roof.read) + " GB/s";

  // What stands at the right of each roof; the note has the figures.
  const labelsOf = (view, roofs, to) => roofs.flatMap((roof) => [
    { text: format.threads(roof.threads), value: [to, Math.min(roof.fma, to * roof.read)], colour: view.theme.text },
    ...roof.products.map((product) => ({
      text: product.name + " products, " + format.threads(roof.threads) + ": " + format.digits(product.rate),
      value: [to, product.rate], colour: view.theme.text, font: "12px",
    })),
  ]);

  // The rate of register tiles whose operands lie in the L1: no product of matrices passes it.
  const tileSeries = (view, roof, to) => ({
    name: "tiles", type: "line", symbol: "none", silent: true, z: 1,
    data: [[roof.tile / roof.read, roof.tile], [to, roof.tile]],
    lineStyle: { color: view.theme.text, width: 1, type: "dotted" },
  });

  const productSeries = (view, roof, product, to) => ({
    name: "products", type: "line", symbol: "none", silent: true, z: 1,
    data: [[Math.min(product.rate / roof.read, to / 2), product.rate], [to, product.rate]],
    lineStyle: { color: view.theme.text, width: 1, type: "dotted" },
  });

  const roofSeries = (view, roof, from, to) => {
    const ridge = roof.fma / roof.read;
    const points = [[from, from * roof.read], [Math.min(Math.max(ridge, from), to), Math.min(roof.fma, to * roof.read)]];
    if (ridge < to) points.push([to, roof.fma]);
    return {
      name: "roof", type: "line", data: points, symbol: "none", silent: true, z: 1,
      lineStyle: { color: view.theme.text, width: 1.5, type: roof.threads === 1 ? "dashed" : "solid" },
    };
  };

  headroom.charts.push({
    name: "roofline",
    title: "Roofline: every cell under the measured limits",
    uses: ["threads", "backends", "formulations"],
    empty: () => "no peaks were measured with these cells",
    note: (model, selection) =>
      "All shapes, up to " + format.threads(selection.threads) + ". Bytes count weights, input " +
      "and output, each moved once. A cell above the slanted roof read some of them from a cache. The roofs: " +
      roofsOf(model).filter((roof) => roof.threads <= selection.threads).map(roofText).join("; ") + "." +
      (roofsOf(model).some((roof) => roof.tile > 0)
        ? " Dotted: register tiles with their operands in the L1, which no product can pass." : "") +
      (roofsOf(model).some((roof) => roof.products.length > 0)
        ? " Cells of another precision than f32 are under the line of its products." : "") +
      (cellsOf(model, selection).some((cell) => cell.ranks > 1)
        ? " The lines are the roofs of one process; cells of several ranks (r2, r4) are under as many times those."
        : "") +
      headroom.distinct(cellsOf(model, selection).filter((cell) => cell.above), (cell) => cell.above)
        .map((why) => " More than 100 % of a limit: " + why + ".").join(""),
    height: () => 460,

    draw(model, selection, view) {
      const cells = cellsOf(model, selection);
      const roofs = roofsOf(model).filter((roof) => roof.threads <= selection.threads);
      if (cells.length === 0 || roofs.length === 0) return null;
      const across = chart.logTicks(cells.map((cell) => cell.intensity));
      const up = chart.logTicks([...cells.map((cell) => cell.gflops), ...roofs.map((roof) => roof.fma * 1.2),
        ...roofs.flatMap((roof) => roof.products.map((product) => product.rate))]);
      const names = headroom.distinct(cells, (cell) => cell.way);
      const to = across[across.length - 1];
      const labels = labelsOf(view, roofs, to);
      return {
        ...chart.base(view),
        legend: { ...chart.legend(view, names), show: true, itemWidth: 11, itemHeight: 11 },
        grid: { left: 62, right: view.narrow ? 18 : chart.endRoom(labels.map((label) => label.text)), top: 46, bottom: 50 },
        xAxis: chart.logAxis(view, "operations per byte", across),
        yAxis: chart.logAxis(view, "GFLOP/s", up, String, { nameGap: 44 }),
        tooltip: { ...chart.base(view).tooltip, formatter: (item) => chart.cellTip(item.data.cell) },
        series: [
          ...roofs.map((roof) => roofSeries(view, roof, Math.max(across[0], up[0] / roof.read), to)),
          ...roofs.filter((roof) => roof.tile > 0 && roof.tile / roof.read < to)
            .map((roof) => tileSeries(view, roof, to)),
          ...roofs.flatMap((roof) => roof.products.map((product) => productSeries(view, roof, product, to))),
          ...names.map((name) => ({
            ...chart.lineSeries(view, name, cells
              .filter((cell) => cell.way === name)
              .map((cell) => ({ value: [cell.intensity, cell.gflops], cell }))),
            type: "scatter", symbolSize: 9,
          })),
          chart.sideLabels(view, labels),
        ],
      };
    },

    table: (model, selection) => ({
      columns: [["cell"], ["operations per byte", 1], ["GFLOP/s", 1], ["of limit", 1], ["limit"],
        ["of tiles", 1]],
      rows: cellsOf(model, selection).map((cell) => [
        cell.id, format.digits(cell.intensity), format.digits(cell.gflops),
        cell.share === undefined ? "-" : format.percent(cell.share), cell.limit || "-",
        cell.tile === undefined ? "-" : format.percent(cell.tile),
      ]),
    }),
  });
})();
