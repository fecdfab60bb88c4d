// Builds the page: unpacks the data, draws the charts, redraws them when a control changes.
(() => {
  const make = headroom.element;
  const kNarrow = 640;
  // What the narrower of A4 and Letter leaves between its margins and those of the page. A screen's width says nothing
  // about the paper's.
  const kPaper = 660;

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

  // A chart with its note and its table. What few readers want is folded, and drawn once it is opened.
  const figureOf = (chart, model, selection, follow) => {
    const canvas = make("div", { class: "chart", role: "img", id: "chart-" + chart.name });
    const note = make("p", { class: "note" });
    const details = make("details", { class: "table", ontoggle: () => fillTable() }, make("summary", {}, "Table"));
    let drawn = null;
    let stale = true;
    let looks = [];

    const fillTable = () => {
      if (!details.open || !stale) return;
      stale = false;
      details.replaceChildren(details.firstChild,
        headroom.tableElement(chart.table(model, selection), chart.title));
    };
    const draw = (dark, printing) => {
      looks = [dark, printing];
      stale = true;
      fillTable();
      note.textContent = headroom.noteOf(chart, model, selection);
      const width = printing ? kPaper : document.getElementById("charts").clientWidth;
      const view = { theme: headroom.theme(dark), width, narrow: width < kNarrow };
      let option = headroom.hasCharts ? chart.draw(model, selection, view) : null;
      canvas.setAttribute("aria-label", chart.title + ". " + note.textContent + " The table follows.");
      canvas.hidden = option === null;
      element.hidden = option === null && headroom.hasCharts;
      if (option === null || (chart.folded && !inside.open)) return;
      let height = chart.height(model, selection);
      if (printing) ({ option, height } = onPaper(option, width, height));
      canvas.style.height = height + "px";
      if (!drawn) {
        drawn = echarts.init(canvas, null, { renderer: "svg", width, height });
        if (chart.name !== "samples") drawn.on("click", follow);
      }
      drawn.resize({ width, height });
      drawn.setOption(option, { notMerge: true });
    };
    const title = make("h3", {}, chart.title);
    const inside = chart.folded
      ? make("details", { class: "folded", ontoggle: () => inside.open && draw(...looks) },
        make("summary", {}, title), note, canvas, details)
      : make("div", {}, title, note, canvas, details);
    const element = make("figure", { id: chart.name, "aria-label": chart.title }, inside);
    return { chart, draw, element, reason: () => chart.empty(model, selection),
      open: () => { details.open = true; fillTable(); } };
  };

  // What this selection leaves too little to draw of, and what would draw it.
  const notDrawn = (figures) => {
    const hidden = figures.filter((figure) => figure.element.hidden);
    return hidden.length === 0 ? [] : [make("h3", {}, "Not drawn"), make("ul", {}, ...hidden.map(({ chart, reason }) =>
      make("li", {}, headroom.shortTitle(chart) + ": " + reason() + ".")))];
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
    // A click on a cell shows it in the chart of raw samples.
    const follow = ({ data }) => {
      const cell = data && (data.cell || (data.item && data.item.cell));
      if (!cell) return;
      selection.shape = cell.shapeId;
      change("shape");
      selection.cell = cell.id;
      change("cell");
    };
    const figures = headroom.charts.map((chart) => figureOf(chart, model, selection, follow));
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    let printing = false;
    const missing = make("div", { class: "note", id: "not-drawn" });
    const drawAll = () => {
      figures.forEach((figure) => figure.draw(scheme.matches && !printing, printing));
      missing.replaceChildren(...notDrawn(figures));
    };
    const change = (key) => {
      controls.follow(key);
      for (const name of ["shape", "cell"]) {
        const list = document.getElementById("choose-" + name);
        if (selection[name] !== undefined) list.value = selection[name];
      }
      figures.filter(({ chart }) => chart.uses.includes(key) || (key === "shape" && chart.uses.includes("cell")))
        .forEach((figure) => figure.draw(scheme.matches));
      missing.replaceChildren(...notDrawn(figures));
    };
    const controls = headroom.controls(model, selection, change);
    place.append(controls.element, ...figures.map((figure) => figure.element), missing);
    document.querySelector("#samples .note").before(controls.cells);
    drawAll();
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
