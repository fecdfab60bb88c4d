// The page of a report in a real browser, from disk and without a network: nothing goes wrong, every
// chart is drawn, the controls change the charts, and nothing is wider than the screen.
// Usage: node report_page_test.mjs HEADROOM FOLDER. Exits with 77 and a reason if it cannot run.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { browserProblems, exitWith, findBrowser, openBrowser } from "../support/browser.mjs";
import { writeSampleResults } from "../support/sample_results.mjs";

const [program, folder] = process.argv.slice(2);
const problems = [];
const check = (holds, what) => { if (!holds) problems.push(what); };

const skip = (reason) => {
  console.log("skipped: " + reason);
  process.exit(77);
};

const run = (...words) => {
  const done = spawnSync(program, words, { encoding: "utf8" });
  if (done.status !== 0) throw new Error(words.join(" ") + " ended with " + done.status + ": " + done.stderr);
  return done.stdout;
};

const makeReport = () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const results = writeSampleResults(join(folder, "results"));
  run("report", results);
  return results;
};

const hostile = "<img src=x onerror=\"window.broken=1\"></script><script>window.broken=1</script>";

// The same results with markup in every name that a file or a machine may bring.
const makeHostile = (results) => {
  const bad = join(folder, "hostile");
  mkdirSync(bad);
  const environment = JSON.parse(readFileSync(join(results, "environment.json"), "utf8"));
  environment.processor.name = hostile;
  environment.warnings = [hostile];
  writeFileSync(join(bad, "environment.json"), JSON.stringify(environment));
  const lines = readFileSync(join(results, "results.jsonl"), "utf8").trim().split("\n").map((line) => {
    const cell = JSON.parse(line);
    if (cell.backend === "autovec") {
      cell.backend = hostile;
      cell.id += hostile;
    }
    return JSON.stringify(cell);
  });
  writeFileSync(join(bad, "results.jsonl"), lines.join("\n") + "\n");
  run("report", bad);
  return bad;
};

// The same results with one backend as another library, and its name where a user may look for it.
const makePeers = (results) => {
  const beside = join(folder, "peers");
  mkdirSync(beside);
  const environment = JSON.parse(readFileSync(join(results, "environment.json"), "utf8"));
  environment.peers = { onednn: { version: "1.0", settings: { mode: "plain" }, tried: {} } };
  writeFileSync(join(beside, "environment.json"), JSON.stringify(environment));
  writeFileSync(join(beside, "results.jsonl"), readFileSync(join(results, "results.jsonl")));
  run("report", beside);
  return beside;
};

// The same results, and cells of four processes that take 40 % of the time of one.
const makeRanks = (results) => {
  const shared = join(folder, "ranks");
  mkdirSync(shared);
  const environment = JSON.parse(readFileSync(join(results, "environment.json"), "utf8"));
  environment.peaks.link = { latency_s: 1e-6, bytes_per_s: 1e10 };
  writeFileSync(join(shared, "environment.json"), JSON.stringify(environment));
  const lines = readFileSync(join(results, "results.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const four = lines.filter((line) => line.backend === "tbb" && line.threads === 1).map((line) => {
    const less = (value) => 0.4 * value;
    const time = line.time_s;
    return { ...line, ranks: 4, id: line.id.replace("/t1/", "/r4t1/"), gflops: line.gflops / 0.4,
      time_s: { median: less(time.median), ci95: time.ci95.map(less), min: less(time.min), samples: time.samples.map(less) },
      phases_s: { ...line.phases_s, sum: less(time.median) / 10 } };
  });
  writeFileSync(join(shared, "results.jsonl"), lines.concat(four).map((line) => JSON.stringify(line) + "\n").join(""));
  run("report", shared);
  return shared;
};

const open = async (browser, path, width) => {
  await browser.resize(width, 900);
  await browser.load(pathToFileURL(path).href);
  await browser.until("document.documentElement.dataset.ready === 'yes'", "the page gets ready");
};

const drawings = (browser) => browser.evaluate(
  "Object.fromEntries([...document.querySelectorAll('.chart')].map((c) => [c.id, c.hidden ? '' : c.innerHTML]))");

// What is folded is drawn once it is opened.
const openFolds = (browser) => browser.evaluate(`document.querySelectorAll(".folded").forEach((fold) => {
  fold.open = true; fold.dispatchEvent(new Event("toggle")); })`);

const checkFolds = async (browser, results) => {
  const state = () => browser.evaluate(`[...document.querySelectorAll("figure:has(> .folded)")].map((figure) =>
    figure.id + " " + (figure.querySelector(".folded").open ? "open" : "closed") + " " +
    (figure.querySelector(".chart svg path") ? "drawn" : "empty"))`);
  const ids = ["error-against-limit", "samples", "drift"];
  check((await state()).join() === ids.map((id) => id + " closed empty").join(), "before: " + await state());
  await openFolds(browser);
  check((await state()).join() === ids.map((id) => id + " open drawn").join(), "opened: " + await state());
  const report = readFileSync(join(results, "report.md"), "utf8");
  for (const id of ids) {
    check(!report.includes("pictures/" + id) && !existsSync(join(results, "pictures", id + ".svg")), id + " is a picture of report.md");
  }
};

const checkCharts = async (browser) => {
  await openFolds(browser);
  const charts = await browser.evaluate(`[...document.querySelectorAll(".chart")].map((chart) => ({
    id: chart.id, hidden: chart.hidden, width: chart.clientWidth, height: chart.clientHeight,
    marks: chart.querySelectorAll("svg path").length, label: chart.getAttribute("aria-label") }))`);
  check(charts.length === 10, "10 charts are expected, found " + charts.length);
  for (const chart of charts) {
    check(!chart.hidden && chart.width > 200 && chart.height > 100 && chart.marks > 5,
      "not drawn: " + JSON.stringify(chart));
  }
  const tables = await browser.evaluate(`[...document.querySelectorAll("figure .table")].map((d) => {
    d.open = true; d.dispatchEvent(new Event("toggle"));
    const rows = d.querySelectorAll("tbody tr").length; d.open = false; return rows; })`);
  check(tables.length === 10 && tables.every((rows) => rows > 0), "rows of the tables: " + tables);
};

const checkControls = async (browser) => {
  await openFolds(browser);
  const use = async (what, action) => {
    const before = await drawings(browser);
    await browser.evaluate(action);
    const after = await drawings(browser);
    check(Object.keys(before).some((id) => before[id] !== after[id]), what + " changes no chart");
  };
  const next = (id) => `(() => { const list = document.getElementById("choose-${id}");
    list.selectedIndex = (list.selectedIndex + 1) % list.length; list.dispatchEvent(new Event("change")); })()`;
  for (const id of ["threads", "tokens", "heads", "cell"]) await use(id, next(id));
  // The next entry is a shape of one precision with one cell, which leaves nothing to choose; back again.
  await use("shape", next("shape"));
  await use("shape", `(() => { const list = document.getElementById("choose-shape");
    --list.selectedIndex; list.dispatchEvent(new Event("change")); })()`);
  await use("a backend", "document.querySelector('#choose-backends input').click()");
  await use("a formulation", "document.querySelector('#choose-formulations input:not(:checked)').click()");
};

const checkDark = async (browser) => {
  const look = "getComputedStyle(document.body).backgroundColor + document.querySelector('#chart-roofline').innerHTML";
  const light = await browser.evaluate(look);
  await browser.media([{ name: "prefers-color-scheme", value: "dark" }]);
  check(light !== await browser.evaluate(look), "dark mode changes nothing");
  await browser.media([]);
};

const checkHover = async (browser) => {
  const place = await browser.evaluate(`(() => {
    const chart = document.querySelector("#chart-phases"); chart.scrollIntoView();
    const box = chart.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()`);
  // The middle may lie between two bars, and a busy machine takes a while to draw.
  let shown = false;
  for (let i = 0; i < 40 && !shown; ++i) {
    await browser.move(place[0], place[1] + i % 8 * 6);
    shown = await browser.evaluate("document.querySelector('#chart-phases').textContent.includes('attention: ')");
    if (!shown) await new Promise((done) => setTimeout(done, 50));
  }
  check(shown, "no figures on hover");
};

const checkKeyboard = async (browser) => {
  await openFolds(browser);
  await browser.evaluate("document.activeElement.blur(), scrollTo(0, 0)");
  const reached = new Set();
  for (let i = 0; i < 60 && !reached.has("choose-cell"); ++i) {
    await browser.press("Tab");
    reached.add(await browser.evaluate("document.activeElement.id || document.activeElement.type"));
  }
  for (const id of ["choose-threads", "choose-shape", "choose-cell", "checkbox"]) {
    check(reached.has(id), id + " is not reached with the Tab key");
  }
};

const checkDownload = async (browser, results) => {
  const text = await browser.evaluate(`(async () => {
    const make = URL.createObjectURL; let blob;
    URL.createObjectURL = (given) => { blob = given; return make.call(URL, given); };
    document.querySelector("#downloads button").click(); URL.createObjectURL = make;
    return blob.text(); })()`);
  check(text === readFileSync(join(results, "results.jsonl"), "utf8"), "the embedded results are not the file's");
};

// A code host shows a picture that is not well-formed as a broken one.
const checkPictures = async (browser, results) => {
  const pictures = readdirSync(join(results, "pictures"));
  check(pictures.length > 5, "pictures: " + pictures);
  for (const name of pictures) {
    const text = readFileSync(join(results, "pictures", name), "utf8");
    const error = await browser.evaluate(`(() => {
      const parsed = new DOMParser().parseFromString(${JSON.stringify(text)}, "image/svg+xml");
      return parsed.querySelector("parsererror")?.textContent ?? "";
    })()`);
    check(error === "", name + " is not well-formed: " + error);
  }
};

// Each roof is named, and so are the shares of both and the threads that had fewer cores.
const checkRoofs = async (browser) => {
  const texts = await browser.evaluate(`[...document.querySelectorAll("figure")].map((figure) => {
    const details = figure.querySelector(".table");
    details.open = true; details.dispatchEvent(new Event("toggle"));
    const text = figure.textContent; details.open = false; return text; })`);
  const figure = (title) => texts.find((text) => text.includes(title)) ?? "";
  const roofline = figure("Roofline");
  for (const words of ["1 thread: multiply-adds 100, tiles 90.0 GFLOP/s", "2 threads: multiply-adds 195, tiles 175 GFLOP/s",
    "memory read 30.0 GB/s", "Dotted: register tiles with their operands in the L1", "of tiles",
    "bf16 products, 2 threads: 1400"]) {
    check(roofline.includes(words), "the roofline does not say: " + words);
  }
  const precisions = figure("Error against time");
  for (const words of ["storing included", "bf16x6", "bf16x3", "Pareto front", "2.01 × as fast as f32",
    "f32-wq8", "error of storing", "6.0e-3", "0.40 %", "1.0e-1"]) {
    check(precisions.includes(words), "the chart of precisions does not say: " + words);
  }
  // Each way to store has a mark of its own, and so has each precision.
  const marks = await browser.evaluate(`(() => {
    const theme = headroom.theme(false);
    return ["f32-wbf16", "f32-wq8", "f32-wq4", "f32-cbf16", "f32-cq8", "f32-wq8-cq8", "int8-wq8", "int8-wq4", "bf16x6",
      "bf16x3", "bf16", "fp16x3", "f32-bf16"].map((numbers) => theme.symbol("tbb", "split " + numbers)); })()`);
  check(new Set(marks).size === marks.length && !marks.includes("circle"), "marks that look alike: " + marks);
  check(figure("Speed-up with more threads").includes("2 (as 1.1 cores)"), "no mark of threads that had fewer cores");
  check(figure("Raw samples").includes("tiles, GFLOP/s"), "no tiles beside the samples");
  const used = await browser.evaluate(`(() => {
    const cell = (more) => ({ threads: 2, ranks: 1, shapeId: "S", way: "w", gflops: 1,
      time: { median: 1, low: 1, high: 1 }, ...more });
    return [headroom.chart.cellTip(cell({ energy: { median: 0.0123, idle_share: 0.34 },
      counters: { instructions: { median: 1.234e9 }, cycles: { median: 5e8 }, cache_misses: { median: 0 } },
      throttled: { samples: [0, 2, 0] } })), headroom.chart.cellTip(cell({}))]; })()`);
  for (const words of ["12.3 mJ a pass, 34 % of it idle", "1.23 G instructions, 2.47 per cycle", "0.00 cache misses",
    "throttled in 1 of 3 samples"]) {
    check(used[0].includes(words), "no " + words + " in " + used[0]);
  }
  check(!/idle|instructions|misses|throttled/.test(used[1]), "usage of a cell that has none: " + used[1]);
  for (const words of ["joules", "instructions", "cycles", "cache misses", "throttle events"]) {
    check(figure("Raw samples").includes(words), "the samples have no column of " + words);
  }
  const page = await browser.evaluate("document.body.textContent");
  for (const words of ["energy of a pass", "25 %", "2.50", "in 1 sample"]) check(page.includes(words), "no " + words + " in the table");
};

const checkWidth = async (browser, width) => {
  const wide = await browser.evaluate("document.documentElement.scrollWidth");
  check(wide <= width, "the page is " + wide + " pixels wide on a screen of " + width);
  const picture = join(folder, "screen-" + width + ".png");
  writeFileSync(picture, await browser.screenshot());
  check(readFileSync(picture).length > 20000, "an empty screenshot");
};

// No table is cut off, those in closed details neither; only its box scrolls, and only downwards.
const checkTables = async (browser, where) => {
  const clipped = await browser.evaluate(`(() => {
    const details = [...document.querySelectorAll("details")];
    details.forEach((d) => { d.open = true; d.dispatchEvent(new Event("toggle")); });
    const found = [...document.querySelectorAll(".table-box")].filter((box) => box.scrollWidth > box.clientWidth)
      .map((box) => box.getAttribute("aria-label") + " by " + (box.scrollWidth - box.clientWidth));
    // In a list, all parts of a value stand in one column beside the names.
    for (const part of document.querySelectorAll(".wide td *, .middling td *")) {
      const cell = part.closest("td");
      if (getComputedStyle(cell).display === "table-cell" || part.getClientRects().length === 0) continue;
      const column = cell.getBoundingClientRect().left + parseFloat(getComputedStyle(cell).paddingLeft);
      if ([...part.getClientRects()].some((box) => box.left < Math.max(column, cell.getBoundingClientRect().left + 100) - 1)) {
        found.push("'" + cell.textContent + "' not in its column");
      }
    }
    const count = document.querySelectorAll(".table-box").length;
    details.forEach((d) => { d.open = false; });
    return { found, count }; })()`);
  check(clipped.count > 5, "tables: " + clipped.count);
  check(clipped.found.length === 0, where + ": cut off: " + clipped.found.join("; "));
};

// No word of a picture lies on another, and none is cut off.
const checkLabels = async (browser, where) => {
  const found = await browser.evaluate(`(() => {
    // What a clip leaves of an element: a legend of several pages has the others beside it.
    const clipOf = (node) => {
      for (let at = node; at && at.tagName !== "svg"; at = at.parentElement) {
        const path = document.getElementById((at.getAttribute("clip-path") || "").slice(5, -1))?.firstElementChild;
        if (!path) continue;
        const box = path.getBBox(), to = at.getScreenCTM();
        return { left: to.a * box.x + to.e, right: to.a * (box.x + box.width) + to.e };
      }
      return { left: -Infinity, right: Infinity };
    };
    const problems = [];
    let count = 0;
    for (const chart of document.querySelectorAll(".chart:not([hidden])")) {
      const frame = chart.getBoundingClientRect();
      const texts = [...chart.querySelectorAll("svg text")].filter((node) => node.textContent.trim()).map((node) => {
        const box = node.getBoundingClientRect(), clip = clipOf(node);
        return { text: chart.id + " '" + node.textContent + "'", top: box.top, bottom: box.bottom,
          left: Math.max(box.left, clip.left), right: Math.min(box.right, clip.right) };
      }).filter((box) => box.right > box.left);
      count += texts.length;
      const both = (a, b) => Math.min(Math.min(a.right, b.right) - Math.max(a.left, b.left),
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
      texts.forEach((a, i) => {
        if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1) {
          problems.push(a.text + " is cut off");
        }
        for (const b of texts.slice(i + 1)) if (both(a, b) > 1) problems.push(a.text + " on " + b.text);
      });
    }
    return { problems, count }; })()`);
  check(found.count > 50, where + ": labels: " + found.count);
  check(found.problems.length === 0, where + ": " + found.problems.slice(0, 8).join("; "));
};

// A sheet is narrow, and nobody turns the pages of a legend on it.
const checkPaper = async (browser) => {
  await browser.resize(720, 900);
  await openFolds(browser);
  await browser.media([], "print");
  const pages = `[...document.querySelectorAll(".chart svg text")].map((node) => node.textContent)
    .filter((text) => /^\\d+\\/\\d+$/.test(text)).join()`;
  check(await browser.evaluate(pages) !== "", "no legend has pages on a screen, so nothing is tested on paper");
  await browser.evaluate("dispatchEvent(new Event('beforeprint'))");
  check(await browser.evaluate(pages) === "", "a legend has pages on paper: " + await browser.evaluate(pages));
  await checkLabels(browser, "on paper");
  await browser.evaluate("dispatchEvent(new Event('afterprint'))");
  await browser.resize(1280, 900);
  await browser.evaluate("dispatchEvent(new Event('beforeprint'))");
  const widths = await browser.evaluate(`[...document.querySelectorAll(".chart svg")].map((svg) => svg.clientWidth)`);
  check(widths.length > 5 && widths.every((width) => width === 660), "charts wider than paper: " + widths);
  await browser.evaluate("dispatchEvent(new Event('afterprint'))");
  await browser.media([]);
};

// The answer and the first picture come before anything else.
const checkFirstSight = async (browser) => {
  const sight = await browser.evaluate(`({
    answers: document.querySelector("#verdict .table-box").getBoundingClientRect().top + scrollY,
    picture: document.querySelector("figure .chart").getBoundingClientRect().top + scrollY,
    rows: document.querySelectorAll("#verdict tbody tr").length,
    longest: Math.max(...[...document.querySelectorAll("#verdict tbody tr")].map((row) =>
      [...row.children].map((cell) => cell.textContent).join(" ").length)) })`);
  check(sight.rows > 0 && sight.longest <= 100, "the longest answer has " + sight.longest + " characters");
  check(sight.answers < sight.picture && sight.picture < 900, "the first picture begins at " + sight.picture);
};

// Everybody can read it and tell its marks apart, in both modes: words have a contrast of 4.5 to what they stand on and
// marks one of 3, and marks that look alike in shape differ in colour, for eyes without red, green or blue as well
// (Machado, Oliveira and Fernandes 2009).
const checkEyes = async (browser, dark) => {
  const found = await browser.evaluate(`(() => {
    const kEyes = { all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
      red: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
      green: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
      blue: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]] };
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const linear = (colour) => {
      canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    };
    const seen = (rgb, eyes) => eyes.map((row) => Math.min(1, Math.max(0, row.reduce((s, f, i) => s + f * rgb[i], 0))));
    const light = (rgb) => 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
    const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const problems = [];
    const behind = (node) => {
      for (let at = node; at; at = at.parentElement) {
        const colour = getComputedStyle(at).backgroundColor;
        if (!/rgba\\(.*, 0\\)|transparent/.test(colour)) return colour;
      }
      return "white";
    };
    const words = [...document.querySelectorAll("body *")].filter((node) =>
      !node.closest("svg, script, style, .chart") && [...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
    for (const node of words) {
      const ratio = contrast(linear(getComputedStyle(node).color), linear(behind(node)));
      if (ratio < 4.5) problems.push(node.tagName + " '" + node.textContent.slice(0, 30) + "' has " + ratio.toFixed(2));
    }
    const theme = headroom.theme(${dark});
    const ways = ["split", "wrapper", "split bf16x9", "split bf16x6", "split fp16x3", "split bf16x3", "split bf16",
      "split bf16-bf16"];
    const marks = ["naive", "autovec", "xsimd", "onednn", "tbb"].flatMap((backend) => ways.map((way) => ({
      name: backend + "/" + way, colour: theme.colour(backend), ink: theme.ink(backend), symbol: theme.symbol(backend, way),
      filled: theme.lineOf(backend, way).filled })));
    const ground = linear(theme.background);
    for (const [who, eyes] of Object.entries(kEyes)) {
      const look = (colour) => seen(linear(colour), eyes);
      for (const [i, mark] of marks.entries()) {
        if (who === "all" && contrast(linear(mark.ink), ground) < 4.5) problems.push("the word for " + mark.name);
        if (contrast(look(mark.colour), seen(ground, eyes)) < 2.9) problems.push(mark.name + " without " + who);
        for (const other of marks.slice(i + 1)) {
          if (mark.symbol !== other.symbol || mark.filled !== other.filled) continue;
          const apart = Math.hypot(...look(mark.colour).map((v, k) => Math.sqrt(v) - Math.sqrt(look(other.colour)[k])));
          if (apart < 0.1) problems.push(mark.name + " and " + other.name + " without " + who + ": " + apart.toFixed(2));
        }
      }
    }
    return { problems, words: words.length }; })()`);
  check(found.words > 50, "words: " + found.words);
  check(found.problems.length === 0, (dark ? "dark: " : "light: ") + found.problems.slice(0, 8).join("; "));
};

const checkReport = async (browser, results) => {
  const page = join(results, "index.html");
  await open(browser, page, 1280);
  await checkFolds(browser, results);
  await checkCharts(browser);
  await checkRoofs(browser);
  await checkWidth(browser, 1280);
  await checkFirstSight(browser);
  for (const width of [1280, 768, 400]) {
    await open(browser, page, width);
    await checkTables(browser, width + " pixels");
    await checkLabels(browser, width + " pixels");
  }
  await checkPaper(browser);
  await browser.media([], "print");
  await checkTables(browser, "on paper");
  await browser.media([]);
  await open(browser, page, 1280);
  await checkHover(browser);
  await checkKeyboard(browser);
  await checkDownload(browser, results);
  await checkPictures(browser, results);
  await checkDark(browser);
  await checkEyes(browser, false);
  await browser.media([{ name: "prefers-color-scheme", value: "dark" }]);
  await checkEyes(browser, true);
  await browser.media([]);
  check((await browser.print()).length > 20000, "printing gives no pages");
  await checkControls(browser);
  await open(browser, page, 400);
  await checkCharts(browser);
  await checkWidth(browser, 400);
};

const checkHostile = async (browser, bad) => {
  await open(browser, join(bad, "index.html"), 1280);
  await browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
  // Tooltips are HTML: over every bar one.
  const [x, top, bottom] = await browser.evaluate(`(() => {
    const chart = document.querySelector("#chart-phases"); chart.scrollIntoView();
    const box = chart.getBoundingClientRect(); return [box.x + box.width / 2, box.y, box.bottom]; })()`);
  for (let y = top + 30; y < bottom - 20; y += 12) await browser.move(x, y);
  check(await browser.evaluate("window.broken === undefined"), "markup in a name was run");
  check(await browser.evaluate("document.querySelectorAll('main img').length === 0"), "markup made an element");
  check(await browser.evaluate("document.querySelector('#choose-backends').textContent.includes('<img src=x')"),
    "a hostile name does not show as text");
};

const checkPeers = async (browser, beside) => {
  const page = join(beside, "index.html");
  await open(browser, page, 1280);
  await checkCharts(browser);
  check(await browser.evaluate("document.querySelector('main h1').closest('section').id === 'peers'"),
    "the page does not begin with the peers");
  check(await browser.evaluate("document.querySelectorAll('#peers tbody tr').length > 3"), "no table of peers");
  const boxes = (id) => browser.evaluate(
    `[...document.querySelectorAll("#choose-${id} input")].map((input) => input.value).join()`);
  check(await boxes("peers") === "onednn", "boxes of peers: " + await boxes("peers"));
  check(!(await boxes("backends")).includes("onednn"), "a peer among the backends: " + await boxes("backends"));
  const note = "document.querySelector('#roofline .note').textContent.includes('other libraries')";
  check(await browser.evaluate(note), "nothing says which lines are peers");
  const before = await drawings(browser);
  await browser.evaluate("document.querySelector('#choose-peers input').click()");
  const after = await drawings(browser);
  check(before["chart-roofline"] !== after["chart-roofline"], "the box of a peer changes no chart");
  check(!await browser.evaluate(note), "the note tells of peers that are not drawn");
  check(!await browser.evaluate("document.querySelector('#chart-split-over-wrapper').textContent.includes('onednn')"),
    "a peer is compared with its own wrapper");
  for (const width of [1280, 768, 400]) {
    await open(browser, page, width);
    await checkWidth(browser, width);
    await checkTables(browser, "peers, " + width + " pixels");
    await checkLabels(browser, "peers, " + width + " pixels");
  }
};

// A picture without anything in it is not shown, but named with the reason.
const checkEmpty = async (browser, results) => {
  const folder = results + "-empty";
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "environment.json"), readFileSync(join(results, "environment.json")));
  const lines = readFileSync(join(results, "results.jsonl"), "utf8").trim().split("\n")
    .filter((line) => { const cell = JSON.parse(line); return cell.backend === "tbb" && cell.formulation === "split" && cell.id.includes("/f32/"); });
  writeFileSync(join(folder, "results.jsonl"), lines.join("\n") + "\n");
  run("report", folder);
  await open(browser, join(folder, "index.html"), 1280);
  await openFolds(browser);
  const shown = await browser.evaluate(`[...document.querySelectorAll("figure")].filter((f) => f.offsetHeight > 0)
    .map((f) => ({ id: f.id, marks: f.querySelectorAll(".chart svg path").length }))`);
  check(shown.length > 2 && shown.every((figure) => figure.marks > 0), "empty pictures: " + JSON.stringify(shown));
  const words = await browser.evaluate("document.getElementById('not-drawn').textContent");
  check(words.includes("Speed-up over naive, by number of heads: no cell of this selection has a naive cell"), words);
  check(words.includes("small matrix per head: no cell of this selection was measured with the wrapper"), words);
  // These read from a cache, but none passes the multiply-adds beside it.
  const text = await browser.evaluate("document.querySelector('main').textContent");
  check(text.includes("part of the data came from a nearer cache") && !text.includes("slowed more than the pass"),
    "reasons of limits that nothing passes");
};

// One point is no picture: it is named with the axis that would draw it, on the page and in report.md.
const checkOnePoint = async (browser, results) => {
  const folder = writeSampleResults(results + "-one", [{ heads: 12, tokens: 16, head_dim: 64 }]);
  run("report", folder);
  await open(browser, join(folder, "index.html"), 1280);
  const named = await browser.evaluate("[...document.querySelectorAll('#not-drawn li')].map((item) => item.textContent)");
  const report = readFileSync(join(folder, "report.md"), "utf8");
  for (const [id, words] of [
    ["split-over-wrapper", "What one wide matrix wins over one small matrix per head: one number of heads was measured " +
      "for this selection; add --heads 1,12,48,96."],
    ["speed-up-by-heads", "Speed-up over naive, by number of heads: one number of heads was measured for this selection; " +
      "add --heads 1,12,96."],
    ["time-by-tokens", "Time and rate, by number of tokens: one number of tokens was measured for this selection; " +
      "add --tokens 1,16,128."]]) {
    check(await browser.evaluate(`document.getElementById("${id}").offsetHeight === 0`), id + " is drawn of one point");
    check(named.includes(words), "not named: " + words + " among " + named.join(" "));
    check(report.includes("- " + words) && !report.includes("pictures/" + id), "report.md on " + id);
    check(!existsSync(join(folder, "pictures", id + ".svg")), id + ".svg is drawn of one point");
  }
  check(named.length === 3, "not drawn: " + named.join(" "));
};

// A layer of one width with 1 to 96 heads, where the wrapper costs more or less, or it cannot be said; one of its shapes has
// heads as wide as another layer's.
const makeGrid = (results) => {
  const folder = writeSampleResults(results + "-grid", [...[1, 12, 48, 96].map((heads) => ({ heads, tokens: 16, head_dim: 768 / heads })),
    { heads: 12, tokens: 128, head_dim: 64 }, { heads: 24, tokens: 16, head_dim: 64 }]);
  const cost = { naive: [0.7, 1, 1.19, 1.4], autovec: [1, 1.24, 2.16, 3.04], xsimd: [1, 1, 1.15, 2.2], tbb: [1, 1, 1.16, 2.03],
    onednn: [1, 1, 1.45, 3.49] };
  const path = join(folder, "results.jsonl");
  const lines = readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  for (const line of lines) {
    if (!line.time_s) continue;
    const noisy = line.backend === "onednn" && line.shape.heads < 48;
    const factor = line.formulation === "wrapper" ? 0.7 * (cost[line.backend][[1, 12, 48, 96].indexOf(line.shape.heads)] || 1) : 1;
    const time = line.time_s;
    const samples = time.samples.map((seconds, i) => seconds * factor * (noisy ? 1 + 0.5 * ((i * 5) % 9) : 1));
    const sorted = [...samples].sort((a, b) => a - b);
    Object.assign(time, { samples, median: sorted[4], ci95: [sorted[1], sorted[7]], min: sorted[0] });
    if (line.control) line.control.gflops = samples.map(() => line.threads === 1 ? 100 : 195);
  }
  writeFileSync(path, lines.map((line) => JSON.stringify(line) + "\n").join(""));
  run("report", folder);
  return folder;
};

// The first picture: each field has the factor of the program's findings, and the colour of its verdict.
const gridInPage = async () => {
  const data = await headroom.unpack("report-data"), theme = headroom.theme(matchMedia("(prefers-color-scheme: dark)").matches);
  const middle = (node) => { const box = node.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
  const svg = document.querySelector("#chart-split-over-wrapper svg");
  const texts = [...svg.querySelectorAll("text")].map((node) => ({ node, text: node.textContent, at: middle(node) }));
  const rows = texts.filter(({ text }) => data.backends.includes(text));
  const columns = texts.filter(({ text, at }) => /^\d+$/.test(text) && at[1] > Math.max(...rows.map((row) => row.at[1])));
  const near = (items, at, axis) => items.reduce((best, item) =>
    Math.abs(item.at[axis] - at[axis]) < Math.abs(best.at[axis] - at[axis]) ? item : best);
  const luminance = (colour) => {
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  };
  const fields = texts.filter((item) => item.at[0] > Math.max(...rows.map((row) => row.at[0] + 20)) &&
    item.at[1] < Math.min(...columns.map((column) => column.at[1])) - 5).map(({ node, text, at }) => {
      const box = [...svg.querySelectorAll("path")].filter((path) => {
        const b = path.getBoundingClientRect();
        return path.getAttribute("fill") !== "none" && b.height > 8 && b.height < 50 && b.left < at[0] && b.right > at[0] && b.top < at[1] && b.bottom > at[1];
      }).at(-1);
      const fill = box.getAttribute("fill"), ink = node.getAttribute("fill");
      const [a, b] = [luminance(fill), luminance(ink)].sort((x, y) => y - x);
      return { backend: near(rows, at, 1).text, heads: Number(near(columns, at, 0).text), text, fill, ink, contrast: (a + 0.05) / (b + 0.05) };
    });
  const lines = data.results.trim().split("\n").map((line) => JSON.parse(line));
  const expected = lines.map((line, i) => ({ line, wrapper: data.findings[i] && data.findings[i].wrapper }))
    .filter(({ line, wrapper }) => wrapper && line.formulation === "split" && line.shape.tokens === 16 && line.shape.d_out === 768 && line.precision === "f32" &&
      !line.weights_dtype && (line.threads === 2 || !["tbb", "onednn"].includes(line.backend)))
    .map(({ line, wrapper }) => ({ backend: line.backend, heads: line.shape.heads, ratio: wrapper[0], verdict: wrapper[3] }));
  return { fields, expected, rows: rows.map((row) => row.text), columns: columns.map((column) => column.text), focus: data.focus,
    shape: document.getElementById("choose-shape").value, family: document.getElementById("choose-family").value,
    families: [...document.getElementById("choose-family").options].map((option) => option.value),
    unclear: theme.unclear, muted: theme.muted, background: theme.background };
};

const checkGrid = async (browser, folder) => {
  const page = join(folder, "index.html");
  for (const scheme of ["light", "dark"]) {
    await browser.media([{ name: "prefers-color-scheme", value: scheme }]);
    await open(browser, page, 1280);
    const grid = await browser.evaluate(`(${gridInPage})()`);
    check(grid.family === "width 768" && grid.families.join() === "width 768,heads of 64", "families: " + grid.families);
    check(grid.rows.join() === "naive,autovec,xsimd,onednn,tbb" && grid.columns.join() === "1,12,48,96", "axes: " + grid.rows + grid.columns);
    check(grid.shape === grid.focus && grid.focus !== "", "the phases are of " + grid.shape + ", the headline of " + grid.focus);
    // One cell of the sample was skipped.
    check(grid.fields.length === grid.expected.length && grid.expected.length >= 19, "fields: " + grid.fields.length + " of " + grid.expected.length);
    const seen = new Set();
    for (const { backend, heads, ratio, verdict } of grid.expected) {
      const field = grid.fields.find((one) => one.backend === backend && one.heads === heads);
      const where = backend + " at " + heads + ", " + verdict + ": " + JSON.stringify(field);
      seen.add(verdict);
      check(field && field.text === ratio.toPrecision(3) + " ×", where + ", not " + ratio);
      if (!field) continue;
      check((field.fill === grid.unclear) === (verdict === "not distinguishable"), where);
      check((field.ink === grid.muted) === (verdict === "not distinguishable"), where);
      check((field.fill === grid.background) === (verdict === "same"), where);
      const [red, , blue] = (field.fill.match(/\d+/g) || []).map(Number);
      if (verdict === "faster") check(blue > red, where);
      if (verdict === "slower") check(red > blue, where);
      check(field.contrast >= 4.5, where);
    }
    check(seen.size === 4, "verdicts: " + [...seen]);
  }
  await browser.media([]);
  for (const width of [1280, 768, 400]) {
    await open(browser, page, width);
    await checkWidth(browser, width);
    await checkLabels(browser, "grid, " + width + " pixels");
  }
  const svg = readFileSync(join(folder, "pictures", "split-over-wrapper.svg"), "utf8");
  check(svg.includes("autovec") && />3\.0\d ×</.test(svg), "no factors in the picture of report.md");
  check(/### [^#]*split-over-wrapper\.svg[^#]*### [^#]*speed-up-by-heads\.svg/.test(readFileSync(join(folder, "report.md"), "utf8")),
    "the order of the pictures of report.md");
  // Another formulation has rows with its name, and another number of tokens has one number of heads.
  await browser.evaluate("document.querySelector('#choose-formulations input[value=fused]').click()");
  check(await browser.evaluate("document.querySelector('#chart-split-over-wrapper').textContent.includes('tbb/fused')"), "no rows of fused");
  const choose = (id, value) => browser.evaluate(`(() => { const list = document.getElementById("choose-${id}");
    list.value = "${value}"; list.dispatchEvent(new Event("change")); })()`);
  await choose("family", "heads of 64");
  const { columns } = await browser.evaluate(`(${gridInPage})()`);
  check(columns.join() === "12,24", "the columns of heads of 64: " + columns);
  await choose("tokens", "128");
  check(await browser.evaluate("document.getElementById('split-over-wrapper').offsetHeight === 0 && " +
    "document.getElementById('not-drawn').textContent.includes('one number of heads')"), "one column is drawn");
};

// Cells that pass a limit say why: those of tbb beside a control that was slowed.
const checkAbove = async (browser, results) => {
  const folder = results + "-above";
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "environment.json"), readFileSync(join(results, "environment.json")));
  const lines = readFileSync(join(results, "results.jsonl"), "utf8").trim().split("\n").map((line) => {
    const cell = JSON.parse(line);
    if (cell.backend === "tbb" && cell.control) cell.control.gflops = cell.control.gflops.map((rate) => 0.6 * rate);
    return JSON.stringify(cell);
  });
  writeFileSync(join(folder, "results.jsonl"), lines.join("\n") + "\n");
  run("report", folder);
  const reason = "the multiply-adds or tiles beside the samples were slowed more than the pass";
  const roofline = "document.querySelector('#roofline .note').textContent";
  await open(browser, join(folder, "index.html"), 1280);
  check((await browser.evaluate(roofline)).includes("More than 100 % of a limit: " + reason), "no reason on the roofline");
  const text = await browser.evaluate("document.body.textContent");
  check(/1\d\d %\^ of multiply-adds/.test(text) && text.includes("^ more than 100 %: " + reason), "no reason in the table");
};

const checkRanks = async (browser, shared) => {
  const page = join(shared, "index.html");
  await open(browser, page, 1280);
  await checkCharts(browser);
  const texts = await browser.evaluate(`[...document.querySelectorAll("figure")].map((figure) => {
    const details = figure.querySelector(".table");
    details.open = true; details.dispatchEvent(new Event("toggle"));
    const text = figure.textContent; details.open = false; return text; })`);
  const figure = (title) => texts.find((text) => text.includes(title)) ?? "";
  for (const [title, words] of [["Where the time goes", "sum of the ranks"], ["Where the time goes", "tbb/split r4, t1"],
    ["Time and rate", "formulationranksthreads"], ["Noise and drift", "control, 1 thread beside 3 other ranks"],
    ["Roofline", "cells of several ranks (r2, r4) are under as many times those"]]) {
    check(figure(title).includes(words), title + " does not say: " + words);
  }
  const rows = await browser.evaluate(
    "[...document.querySelectorAll('#prediction tbody tr')].map((row) => row.children[3].textContent + ' ' + row.lastChild.textContent)");
  check(rows.includes("4 40 %"), "no measured row of 4 ranks: " + rows.slice(0, 8));
  check(rows.some((row) => /^64 ~\d+ %$/.test(row)), "no predicted row of 64 ranks: " + rows.slice(0, 8));
  for (const width of [1280, 400]) {
    await open(browser, page, width);
    await checkWidth(browser, width);
    await checkLabels(browser, "ranks, " + width + " pixels");
  }
};

// Steps after pasts of several lengths: each has a place of its own in every picture of tokens.
const checkSteps = async (browser, results) => {
  const folder = results + "-steps";
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "environment.json"), readFileSync(join(results, "environment.json")));
  const lines = readFileSync(join(results, "results.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line))
    .filter((cell) => cell.shape.tokens === 1 && cell.precision === "f32");
  const steps = [100, 1000, 10000].flatMap((past) => [{ past }, { past, window: 64 }].flatMap((more) => lines.map((cell) => ({
    ...cell, id: cell.id + Object.entries(more).map(([key, value]) => "_" + key[0].toUpperCase() + value).join(""),
    shape: { ...cell.shape, ...more },
    error: more.past === 100 ? { nrmse: 1e-4, max_over_rms: 1e-3, bound_ratio: 0.31, limit: 1 } : cell.error }))));
  writeFileSync(join(folder, "results.jsonl"), steps.map((cell) => JSON.stringify(cell) + "\n").join(""));
  run("report", folder);
  for (const width of [1280, 400]) {
    await open(browser, join(folder, "index.html"), width);
    await openFolds(browser);
    await checkLabels(browser, "steps, " + width + " pixels");
  }
  const texts = (id) => browser.evaluate(
    `[...document.querySelectorAll("#${id} svg text")].map((node) => node.textContent).join("|")`);
  for (const id of ["chart-time-by-tokens", "chart-error-against-limit"]) {
    const found = await texts(id);
    check(/\|1000\|/.test(found) && found.includes("tokens in the cache"), id + " has no place for each past: " + found);
  }
  const limits = await browser.evaluate(`(() => {
    const table = document.querySelector("#error-against-limit .table");
    table.open = true; table.dispatchEvent(new Event("toggle"));
    return table.textContent;
  })()`);
  check(/1\.0e-4by element31 %/.test(limits) && limits.includes("5.0e-6"), "limits of errors: " + limits);
  check((await browser.evaluate("document.querySelector('#choose-tokens').textContent")).startsWith("1 after 1001 after 1000"),
    "the list of tokens does not name the pasts");
  const families = await browser.evaluate("[...document.querySelectorAll('#choose-family option')].map((o) => o.value).join('; ')");
  check(families === "heads of 8, steps of 1 token; heads of 8, steps of 1 token, window 64", "families: " + families);
};

const path = findBrowser();
if (!path) skip("no browser could be installed, and none is on PATH");
const results = makeReport();
if (readFileSync(join(results, "index.html"), "utf8").includes("No charts: Apache ECharts was not installed")) {
  skip("ECharts was not there at build time, so there are no charts");
}
if (!existsSync(join(results, "pictures"))) throw new Error("the report has no pictures: a script of the page is broken");
const bad = makeHostile(results);
const beside = makePeers(results);
const shared = makeRanks(results);
const browser = await openBrowser(path, join(folder, "profile"));
try {
  await checkReport(browser, results);
  await checkHostile(browser, bad);
  await checkPeers(browser, beside);
  await checkEmpty(browser, results);
  await checkOnePoint(browser, results);
  await checkGrid(browser, makeGrid(results));
  await checkAbove(browser, results);
  await checkSteps(browser, results);
  await checkRanks(browser, shared);
  problems.push(...browserProblems(browser));
} finally {
  await browser.close();
}
exitWith(problems);
