// Builds the page: unpacks the data, draws the charts, redraws them when a control changes.
(() => {
  const make = headroom.element;
  const kNarrow = 640;

  const download = (name, type, text) => make("button", { type: "button", onclick: () => {
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  } }, name);

  // Nobody turns the pages of a legend on paper: all its names stand in rows, for which the picture grows.
  const onPaper = (option, width, height) => {
    const { legend } = option;
    if (!legend || legend.type !== "scroll" || legend.show === false) return { option, height };
    const names = legend.data || option.series.map((series) => series.name);
    const wide = Math.max(...names.map((name) => 7 * headroom.chart.shortName(name).length)) + legend.itemWidth + 18;
    const columns = Math.max(1, Math.floor(width / wide));
    const more = 20 * (Math.ceil(new Set(names).size / columns) - 1);
    const lower = (grid) => ({ ...grid, top: grid.top + more });
    return { height: height + more, option: { ...option,
      legend: { ...legend, type: "plain", width, itemGap: 8 },
      grid: Array.isArray(option.grid) ? option.grid.map(lower) : lower(option.grid) } };
  };

  // A chart with its note and its table.
  const figureOf = (chart, model, selection) => {
    const canvas = make("div", { class: "chart", role: "img", id: "chart-" + chart.name });
    const note = make("p", { class: "note" });
    const details = make("details", { ontoggle: () => fillTable() }, make("summary", {}, "Table"));
    let drawn = null;
    let stale = true;

    const fillTable = () => {
      if (!details.open || !stale) return;
      stale = false;
      details.replaceChildren(details.firstChild,
        headroom.tableElement(chart.table(model, selection), chart.title));
    };
    const draw = (dark, printing) => {
      stale = true;
      fillTable();
      note.textContent = headroom.noteOf(chart, model, selection);
      const width = document.getElementById("charts").clientWidth;
      const view = { theme: headroom.theme(dark), width, narrow: width < kNarrow };
      let option = headroom.hasCharts ? chart.draw(model, selection, view) : null;
      canvas.setAttribute("aria-label", chart.title + ". " + note.textContent + " The table follows.");
      canvas.hidden = option === null;
      element.hidden = option === null && headroom.hasCharts;
      if (option === null) return;
      let height = chart.height(model, selection);
      if (printing) ({ option, height } = onPaper(option, width, height));
      canvas.style.height = height + "px";
      drawn = drawn || echarts.init(canvas, null, { renderer: "svg", width, height });
      drawn.resize({ width, height });
      drawn.setOption(option, { notMerge: true });
    };
    const element = make("figure", { id: chart.name }, make("figcaption", {}, make("h3", {}, chart.title)),
      note, canvas, details);
    return { chart, draw, fillTable, element, open: () => { details.open = true; fillTable(); } };
  };

  // What this selection leaves nothing to draw of, and why.
  const notDrawn = (figures) => {
    const hidden = figures.filter((figure) => figure.element.hidden);
    return hidden.length === 0 ? "" : "Not drawn: " + hidden.map(({ chart }) =>
      chart.title.replace(/:.*/, "") + " (" + chart.empty.replace(/^N/, "n").replace(/\.$/, "") + ")").join("; ") + ".";
  };

  // A click on a cell shows it in the chart of raw samples.
  const followClicks = (figures, selection, change) => {
    for (const figure of figures) {
      const chart = headroom.hasCharts &&
        echarts.getInstanceByDom(figure.element.querySelector(".chart"));
      if (!chart || figure.chart.name === "samples") continue;
      chart.on("click", ({ data }) => {
        const cell = data && (data.cell || (data.item && data.item.cell));
        if (!cell) return;
        selection.shape = cell.shapeId;
        change("shape");
        selection.cell = cell.id;
        change("cell");
      });
    }
  };

  const start = (data) => {
    const model = headroom.read(data);
    document.getElementById("downloads").append(
      download("results.jsonl", "application/x-ndjson", model.raw),
      download("environment.json", "application/json", JSON.stringify(model.environment, null, 2)));
    const place = document.getElementById("charts");
    if (model.timed.length === 0) {
      place.append(make("p", {}, "No cell has a time, so there is nothing to draw."));
      return;
    }
    const selection = headroom.firstSelection(model);
    const figures = headroom.charts.map((chart) => figureOf(chart, model, selection));
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    let printing = false;
    const missing = make("p", { class: "note", id: "not-drawn" });
    const drawAll = () => {
      figures.forEach((figure) => figure.draw(scheme.matches && !printing, printing));
      missing.textContent = notDrawn(figures);
    };
    const change = (key) => {
      controls.follow(key);
      for (const name of ["shape", "cell"]) {
        const list = document.getElementById("choose-" + name);
        if (selection[name] !== undefined) list.value = selection[name];
      }
      figures.filter(({ chart }) => chart.uses.includes(key) || (key === "shape" && chart.uses.includes("cell")))
        .forEach((figure) => figure.draw(scheme.matches));
      missing.textContent = notDrawn(figures);
    };
    const controls = headroom.controls(model, selection, change);
    place.append(controls.element, ...figures.map((figure) => figure.element), missing);
    drawAll();
    followClicks(figures, selection, change);
    scheme.addEventListener("change", drawAll);
    // On paper: light, with every chart as wide as the sheet.
    addEventListener("beforeprint", () => { printing = true; drawAll(); });
    addEventListener("afterprint", () => { printing = false; drawAll(); });
    let width = place.clientWidth;
    new ResizeObserver(() => {
      if (place.clientWidth === width) return;
      width = place.clientWidth;
      drawAll();
    }).observe(place);
    if (!headroom.hasCharts) figures.forEach((figure) => figure.open());
  };

  headroom.hasCharts = typeof echarts !== "undefined";
  headroom.unpack("report-data").then(start).then(() => {
    document.documentElement.dataset.ready = "yes";
  }).catch((error) => {
    document.getElementById("charts").append(make("p", { class: "missing", role: "alert" },
      "The charts could not be drawn: " + error + ". The tables of the verdict are above; every cell is in " +
      "results.csv beside this page. The charts need a browser from 2023 or later."));
    console.error(error);
  });
})();
