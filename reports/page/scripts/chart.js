// What the charts share: axes, lines with intervals, labels.
headroom.chart = (() => {
  const format = headroom.format;

  // 1, 2, 5, 10, ... or only powers of ten where there are many decades; the axis ends on ticks.
  const logTicks = (values) => {
    const low = Math.min(...values);
    const high = Math.max(...values);
    const steps = Math.log10(high / low) > 3.2 ? [1] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); ++power) {
      for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(3)));
    }
    const first = Math.max(0, ticks.findLastIndex((tick) => tick <= low * 1.0001));
    const last = ticks.findIndex((tick) => tick >= high * 0.9999);
    return ticks.slice(first, (last < 0 ? ticks.length - 1 : last) + 1);
  };

  // The given ticks of a logarithmic axis, without those that crowd others.
  const thinned = (values, pixels) => {
    const decades = Math.log(values[values.length - 1] / values[0]) || 1;
    const gap = (26 / pixels) * decades;
    const kept = [];
    for (const value of [...values].reverse()) {
      if (kept.length === 0 || Math.log(kept[kept.length - 1] / value) >= gap) kept.push(value);
    }
    return kept.reverse();
  };

  const axis = (view, name, more) => ({
    name, nameLocation: "middle", nameTextStyle: { color: view.theme.muted, fontSize: 12 },
    axisLine: { show: true, lineStyle: { color: view.theme.line } },
    axisTick: { lineStyle: { color: view.theme.line } },
    axisLabel: { color: view.theme.text, fontSize: 12, hideOverlap: true },
    splitLine: { lineStyle: { color: view.theme.grid } },
    minorTick: { show: false }, ...more,
  });

  // Of an axis below: its labels leave room for the lowest one of the axis at its left.
  const axisBelow = (view, name, more) => {
    const base = axis(view, name, { nameGap: 28, ...more });
    return { ...base, axisLabel: { ...base.axisLabel, margin: 11 } };
  };

  // One below where no gap to its name is given.
  const logAxis = (view, name, ticks, label, more) => {
    const base = (more && more.nameGap ? axis : axisBelow)(view, name, more);
    const wide = ticks.length > 1;
    return {
      ...base, type: "log",
      min: wide ? ticks[0] : ticks[0] / 2, max: wide ? ticks[ticks.length - 1] : ticks[0] * 2,
      axisTick: { ...base.axisTick, customValues: ticks },
      axisLabel: { ...base.axisLabel, customValues: ticks, formatter: label || String },
      splitLine: { ...base.splitLine, show: base.splitLine.show !== false },
    };
  };

  const base = (view) => ({
    animation: false, backgroundColor: view.theme.background,
    textStyle: { fontFamily: view.theme.font, color: view.theme.text },
    tooltip: {
      trigger: "item", confine: true, borderColor: view.theme.line,
      backgroundColor: view.theme.background,
      textStyle: { color: view.theme.text, fontSize: 13, fontFamily: view.theme.font },
    },
  });

  // `split` is what most charts show, so only others are named.
  const shortName = (name) => name.replace(/\/split(?= |$)/, "");

  // Pixels for the longest of these names at the end of its line.
  const endRoom = (names) => 20 + 7.4 * Math.max(...[...names].map((name) => shortName(name).length));

  // Lines are named at their ends, or above the chart on a narrow screen.
  const legend = (view, names) => ({
    type: "scroll", top: 0, left: 0, itemWidth: view.narrow ? 18 : 26, itemHeight: 9, data: names,
    formatter: shortName,
    show: view.narrow || names.some((name) => !name.endsWith("/split")),
    textStyle: { color: view.theme.text, fontSize: 12 },
    pageTextStyle: { color: view.theme.text }, pageIconColor: view.theme.muted,
  });

  const lineSeries = (view, name, data, more) => {
    const [backend, formulation] = name.split(/\/(?=[^/]*$)/);
    const colour = view.theme.colour(backend);
    const look = view.theme.lineOf(backend, formulation);
    return {
      name, type: "line", data, symbol: view.theme.symbol(backend, formulation), symbolSize: 8,
      showSymbol: true, showAllSymbol: true,
      lineStyle: { color: colour, width: look.width, type: look.line },
      itemStyle: { color: look.filled ? colour : view.theme.background, borderColor: colour,
        borderWidth: 1.5 },
      emphasis: { focus: "series" }, ...more,
    };
  };

  // Words at the right of the chart beside what they name, pushed apart where they would overlap.
  // Each of `items` has a text, the place that it names, and a colour.
  const sideLabels = (view, items, more) => {
    const kStep = 15;
    const places = (api) => {
      const sorted = items.map((item, i) => ({ i, at: api.coord(item.value) })).sort((a, b) => a.at[1] - b.at[1]);
      for (const end of sorted) end.y = end.at[1];
      for (let round = 0; round < 40; ++round) {
        for (let k = 1; k < sorted.length; ++k) {
          const lack = kStep - (sorted[k].y - sorted[k - 1].y);
          if (lack <= 0) continue;
          sorted[k].y += lack / 2;
          sorted[k - 1].y -= lack / 2;
        }
      }
      return sorted;
    };
    return {
      type: "custom", silent: true, z: 5, tooltip: { show: false }, data: items.map((item) => item.value),
      renderItem(params, api) {
        if (view.narrow) return null;
        const place = places(api).find((end) => end.i === params.dataIndex);
        const { text, colour, font } = items[params.dataIndex];
        return {
          type: "text", x: params.coordSys.x + params.coordSys.width + 9, y: place.y,
          style: { text, fill: colour, font: (font || "600 12px") + " " + view.theme.font, verticalAlign: "middle" },
        };
      },
      ...more,
    };
  };

  // Names at the ends of the lines.
  const endLabels = (view, lines, valueOf, more) =>
    sideLabels(view, [...lines].map(([name, line]) => {
      const backend = name.split(/\/(?=[^/]*$)/)[0];
      return {
        text: shortName(name), value: valueOf(line[line.length - 1]), colour: view.theme.ink(backend),
        font: headroom.theme.isPeer(backend) ? "italic 12px" : "600 12px",
      };
    }), more);

  // Bars from low to high; `data` holds [x, low, high].
  const intervals = (view, name, data, more) => {
    const colour = view.theme.colour(name.split(/\/(?=[^/]*$)/)[0]);
    return {
      name, type: "custom", silent: true, data, encode: { x: 0, y: [1, 2] }, z: 1,
      renderItem(params, api) {
        const low = api.coord([api.value(0), api.value(1)]);
        const high = api.coord([api.value(0), api.value(2)]);
        const style = { stroke: colour, lineWidth: 1.5, fill: "none" };
        const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
        return {
          type: "group",
          children: [
            line(low[0], low[1], high[0], high[1]),
            line(low[0] - 4, low[1], low[0] + 4, low[1]),
            line(high[0] - 4, high[1], high[0] + 4, high[1]),
          ],
        };
      },
      ...more,
    };
  };

  const tip = (head, rows) =>
    "<strong>" + format.escape(head) + "</strong><br>" + rows.map(format.escape).join("<br>");

  const ofRanks = (cell) => cell.ranks > 1 ? " on each of " + cell.ranks + " ranks" : "";

  // What a pass used, as far as its machine told.
  const usageRows = (cell) => {
    const rows = [];
    if (cell.energy) {
      const idle = cell.energy.idle_share;
      rows.push(format.large(cell.energy.median, "J") + " a pass" +
        (idle === undefined ? "" : ", " + format.percent(idle) + " of it idle"));
    }
    const { instructions, cycles, cache_misses: misses } = cell.counters || {};
    if (instructions) {
      rows.push(format.large(instructions.median, " instructions") +
        (cycles ? ", " + format.digits(instructions.median / cycles.median) + " per cycle" : ""));
    }
    if (misses) rows.push(format.large(misses.median, " cache misses"));
    const hot = cell.throttled ? cell.throttled.samples.filter((events) => events > 0).length : 0;
    if (hot > 0) rows.push("throttled in " + hot + " of " + format.count(cell.throttled.samples.length, "sample"));
    return rows;
  };

  const cellTip = (cell) => {
    const rows = [
      format.threads(cell.threads) + ofRanks(cell) + ", " + cell.shapeId,
      format.seconds(cell.time.median) + " (95 %: " + format.interval(cell.time, format.seconds) + ")",
      format.digits(cell.gflops) + " GFLOP/s",
    ];
    if (cell.cores) rows.push(format.threads(cell.threads) + " ran at the rate of " + cell.cores.toFixed(1) + " cores");
    if (cell.share !== undefined) rows.push(format.percent(cell.share) + " of the limit: " + cell.limit);
    if (cell.tile !== undefined) rows.push(format.percent(cell.tile) + " of register tiles from the L1");
    if (cell.above) rows.push("more than 100 %: " + cell.above);
    if (cell.baseline) {
      rows.push(format.times(cell.baseline.ratio) + " as fast as naive (" + format.interval(cell.baseline, format.times) +
        "), " + cell.baseline.verdict);
    }
    rows.push(...usageRows(cell));
    return tip(cell.way + (cell.peer ? ", another library" : ""), rows);
  };

  const threadsText = (cell) =>
    cell.threads + (cell.cores ? " (as " + cell.cores.toFixed(1) + " cores)" : "");

  const tokensName = (cells) => {
    const steps = cells.filter((cell) => cell.shape.past > 0).length;
    if (steps === 0) return "tokens";
    return steps === cells.length ? "tokens in the cache before a step" : "tokens, or those in the cache before a step";
  };

  // Those of a chart at one number of tokens.
  const tokensText = ([cell], selection) => cell === undefined ? format.count(selection.tokens, "token")
    : format.count(cell.shape.tokens, "token") + (cell.shape.past > 0 ? " after " + cell.shape.past : "");

  // Why a chart with one value on its axis is not drawn, and which axis of a sweep would draw it.
  const oneOf = (what, axis) => "one " + what + " was measured for this selection; add " + axis;

  // A column of ranks, in tables that have cells of several.
  const ranksColumn = (cells) => cells.some((cell) => cell.ranks > 1)
    ? { head: [["ranks", 1]], of: (cell) => [cell.ranks] } : { head: [], of: () => [] };

  const cellName = (cell) => cell.way + ", t" + cell.threads;

  return { axis, axisBelow, base, cellName, cellTip, endLabels, endRoom, intervals, legend, lineSeries, logAxis, logTicks, oneOf, ranksColumn, shortName, sideLabels, thinned, threadsText, tip, tokensName, tokensText };
})();
