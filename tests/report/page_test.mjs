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

const checkCharts = async (browser) => {
  const charts = await browser.evaluate(`[...document.querySelectorAll(".chart")].map((chart) => ({
    id: chart.id, hidden: chart.hidden, width: chart.clientWidth, height: chart.clientHeight,
    marks: chart.querySelectorAll("svg path").length, label: chart.getAttribute("aria-label") }))`);
  check(charts.length === 10, "10 charts are expected, found " + charts.length);
  for (const chart of charts) {
    check(!chart.hidden && chart.width > 200 && chart.height > 100 && chart.marks > 5,
      "not drawn: " + JSON.stringify(chart));
  }
  const tables = await browser.evaluate(`[...document.querySelectorAll("figure details")].map((d) => {
    d.open = true; d.dispatchEvent(new Event("toggle"));
    const rows = d.querySelectorAll("tbody tr").length; d.open = false; return rows; })`);
  check(tables.length === 10 && tables.every((rows) => rows > 0), "rows of the tables: " + tables);
};

const checkControls = async (browser) => {
  const use = async (what, action) => {
    const before = await drawings(browser);
    await browser.evaluate(action);
    const after = await drawings(browser);
    check(Object.keys(before).some((id) => before[id] !== after[id]), what + " changes no chart");
  };
  const next = (id) => `(() => { const list = document.getElementById("choose-${id}");
    list.selectedIndex = (list.selectedIndex + 1) % list.length; list.dispatchEvent(new Event("change")); })()`;
  for (const id of ["threads", "tokens", "heads", "versus", "cell"]) await use(id, next(id));
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
    const details = figure.querySelector("details");
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
  for (const words of ["f32 stored", "bf16x6", "bf16x3", "Pareto front", "2.01 × as fast as f32"]) {
    check(precisions.includes(words), "the chart of precisions does not say: " + words);
  }
  check(figure("Speed-up with more threads").includes("2 (as 1.1 cores)"), "no mark of threads that had fewer cores");
  check(figure("Raw samples").includes("tiles, GFLOP/s"), "no tiles beside the samples");
};

const checkWidth = async (browser, width) => {
  const wide = await browser.evaluate("document.documentElement.scrollWidth");
  check(wide <= width, "the page is " + wide + " pixels wide on a screen of " + width);
  const picture = join(folder, "screen-" + width + ".png");
  writeFileSync(picture, await browser.screenshot());
  check(readFileSync(picture).length > 20000, "an empty screenshot");
};

const checkTables = async (browser) => {
  const clipped = await browser.evaluate(`[...document.querySelectorAll("#verdict .table-box")]
    .map((box) => box.scrollWidth - box.clientWidth)`);
  check(clipped.length > 0, "no table in the verdict");
  check(Math.max(...clipped) <= 0, "the table of the fastest cells is cut off by " + clipped + " pixels");
};

const checkReport = async (browser, results) => {
  const page = join(results, "index.html");
  await open(browser, page, 1280);
  await checkCharts(browser);
  await checkRoofs(browser);
  await checkWidth(browser, 1280);
  await checkTables(browser);
  await checkHover(browser);
  await checkKeyboard(browser);
  await checkDownload(browser, results);
  await checkPictures(browser, results);
  await checkDark(browser);
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
  check(!await browser.evaluate("[...document.querySelector('#choose-versus').options].some((o) => o.value === 'onednn')"),
    "a peer is compared with its own wrapper");
  await open(browser, page, 400);
  await checkWidth(browser, 400);
};

const checkRanks = async (browser, shared) => {
  const page = join(shared, "index.html");
  await open(browser, page, 1280);
  await checkCharts(browser);
  const texts = await browser.evaluate(`[...document.querySelectorAll("figure")].map((figure) => {
    const details = figure.querySelector("details");
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
  check(rows.includes("4 40%"), "no measured row of 4 ranks: " + rows.slice(0, 8));
  check(rows.some((row) => /^64 ~\d+%$/.test(row)), "no predicted row of 64 ranks: " + rows.slice(0, 8));
  await open(browser, page, 400);
  await checkWidth(browser, 400);
};

const path = findBrowser();
if (!path) skip("no browser could be installed, and none is on PATH");
const results = makeReport();
if (!existsSync(join(results, "pictures"))) skip("ECharts was not there at build time, so there are no charts");
const bad = makeHostile(results);
const beside = makePeers(results);
const shared = makeRanks(results);
const browser = await openBrowser(path, join(folder, "profile"));
try {
  await checkReport(browser, results);
  await checkHostile(browser, bad);
  await checkPeers(browser, beside);
  await checkRanks(browser, shared);
  problems.push(...browserProblems(browser));
} finally {
  await browser.close();
}
exitWith(problems);
