// The raw samples of one cell, with the control beside them.
(() => {
  const { chart, format } = headroom;

  // Ours before peers, then the fastest.
  const before = (a, b) => a.peer === b.peer ? a.time.median < b.time.median : b.peer;

  headroom.cellOf = (model, selection) =>
    model.timed.find((cell) => cell.id === selection.cell) ||
    model.timed.filter((cell) => cell.shapeId === selection.shape)
      .reduce((best, cell) => (!best || before(cell, best) ? cell : best), undefined) ||
    model.timed[0];

  const tilesOf = (cell) => cell.control && cell.control.tile_gflops;

  // What the machine told of each sample, by name.
  const usageOf = (cell) => {
    const counters = cell.counters || {};
    return [["joules", cell.energy], ["instructions", counters.instructions], ["cycles", counters.cycles],
      ["cache misses", counters.cache_misses], ["throttle events", cell.throttled]]
      .filter(([, kind]) => kind).map(([name, kind]) => [name, kind.samples]);
  };

  const besideSeries = (view, name, data, type) => ({
    name, type: "line", yAxisIndex: 1, data, symbol: "none",
    lineStyle: { color: view.theme.muted, width: 1, type },
  });

  headroom.charts.push({
    name: "samples",
    title: "Raw samples of one cell",
    uses: ["cell"],
    folded: true,
    empty: () => "no cell has a time",
    note: (model, selection) => {
      const cell = headroom.cellOf(model, selection);
      return cell ? cell.id + ". The line is the median, the band its 95 % confidence interval" +
        (cell.control ? "; grey: the multiply-add rate measured beside each sample" : "") +
        (tilesOf(cell) ? "; dotted: that of register tiles from the L1" : "") + "." : "";
    },
    height: () => 320,

    draw(model, selection, view) {
      const cell = headroom.cellOf(model, selection);
      if (!cell) return null;
      const colour = view.theme.colour(cell.backend);
      const samples = cell.time.samples;
      const numbers = samples.map((_, i) => String(i + 1));
      const series = [{
        name: "samples", type: "scatter", symbol: view.theme.symbol(cell.backend, cell.way.slice(cell.backend.length + 1)), symbolSize: 10,
        itemStyle: { color: colour }, data: samples,
        markLine: { silent: true, symbol: "none", lineStyle: { color: colour, type: "solid" },
          label: { show: false }, data: [{ yAxis: cell.time.median }] },
        markArea: { silent: true, itemStyle: { color: colour, opacity: 0.15 },
          data: [[{ yAxis: cell.time.low }, { yAxis: cell.time.high }]] },
      }];
      const yAxis = [{
        ...chart.axis(view, "time of one pass", { nameGap: 56 }), type: "value", scale: true,
        axisLabel: { color: view.theme.text, formatter: (value) => format.seconds(value) },
      }];
      if (cell.control) {
        series.push(besideSeries(view, "control", cell.control.gflops, "dashed"));
        if (tilesOf(cell)) series.push(besideSeries(view, "tiles", tilesOf(cell), "dotted"));
        yAxis.push({
          ...chart.axis(view, "control, GFLOP/s", { nameGap: 44, nameRotate: -90 }), type: "value", min: 0,
          splitLine: { show: false },
        });
      }
      return {
        ...chart.base(view),
        grid: { left: 78, right: cell.control ? 64 : 18, top: 16, bottom: 50 },
        xAxis: { ...chart.axisBelow(view, "sample"), type: "category", data: numbers },
        yAxis, series,
        tooltip: {
          ...chart.base(view).tooltip,
          formatter: (item) => chart.tip("sample " + (item.dataIndex + 1), [
            item.seriesName === "samples" ? format.seconds(item.value) : format.digits(item.value, 4) + " GFLOP/s"]),
        },
      };
    },

    table: (model, selection) => {
      const cell = headroom.cellOf(model, selection);
      return {
        columns: [["sample", 1], ["seconds", 1], ["control, GFLOP/s", 1], ["tiles, GFLOP/s", 1],
          ...(cell ? usageOf(cell).map(([name]) => [name, 1]) : [])],
        rows: cell ? cell.time.samples.map((seconds, i) => [
          i + 1, seconds, cell.control ? format.digits(cell.control.gflops[i], 5) : "-",
          tilesOf(cell) ? format.digits(tilesOf(cell)[i], 5) : "-",
          ...usageOf(cell).map(([, samples]) => format.digits(samples[i], 5))]) : [],
      };
    },
  });
})();
