// The page of several machines in a real browser, from disk and without a network: nothing goes wrong, nothing is
// wider than the screen, no table is cut off, the keyboard reaches everything, the words have contrast, and a store of
// ten thousand cells stays small. Usage: node many_page_test.mjs HEADROOM FOLDER. Exits with 77 and a reason if it
// cannot run.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { browserProblems, exitWith, findBrowser, openBrowser } from "../support/browser.mjs";
import { sampleShapes, writeSampleResults } from "../support/sample_results.mjs";

const [program, folder] = process.argv.slice(2);
const problems = [];
const check = (holds, what) => { if (!holds) problems.push(what); };

const run = (...words) => {
  const done = spawnSync(program, words, { encoding: "utf8" });
  if (done.status !== 0) throw new Error(words.join(" ") + " ended with " + done.status + ": " + done.stderr);
  return done.stdout;
};

const linesOf = (path) => readFileSync(join(path, "results.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));

// The sample's cells as another machine or version has them: times as many times as long, by backend. What a processor
// is called may be markup.
const asOf = (from, to, { processor, revision, month = 1, slower = () => 1, cache = "warm", share = () => true }) => {
  mkdirSync(to, { recursive: true });
  const environment = JSON.parse(readFileSync(join(from, "environment.json"), "utf8"));
  environment.processor.name = processor;
  environment.headroom = "0.1.0";
  environment.build = { git_revision: revision, compiler: "GNU 12.2.0", build_type: "Release", flags: "-O3" };
  environment.time = `2026-${String(month).padStart(2, "0")}-01T00:00:00Z`;
  environment.noise = { floor: 0.02 };
  environment.sweep.cache = cache;
  writeFileSync(join(to, "environment.json"), JSON.stringify(environment));
  const lines = linesOf(from).filter(share).map((line) => {
    if (!line.time_s) return line;
    const factor = slower(line.backend, line);
    const time = line.time_s;
    return { ...line, cache, gflops: line.gflops / factor, again: undefined, control: undefined,
      time_s: { ...time, median: time.median * factor, min: time.min * factor,
        ci95: time.ci95.map((value) => value * factor), samples: time.samples.map((value) => value * factor) } };
  });
  writeFileSync(join(to, "results.jsonl"), lines.map((line) => JSON.stringify(line) + "\n").join(""));
  return to;
};

const hostile = "<img src=x onerror=\"window.broken=1\"></script><script>window.broken=1</script>";

// From 1 to 96 heads of width 768, with every verdict: the sample's wrapper takes 1 / 0.7 of split's time.
const wideShapes = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96].map((heads) => ({ heads, tokens: 16, head_dim: 768 / heads }));
const wideFactors = { naive: { 12: 0.9, 48: 0.7, 96: 0.5 }, xsimd: { 12: 1.03, 48: 1.15, 96: 2.2 } };
const wrapperOf = (backend, { formulation, shape }) => (formulation !== "wrapper" ? 1
  : 0.7 * ((wideFactors[backend] ?? { 48: 1.4, 64: 12.5, 96: 3.5 })[shape.heads] ?? 1));

const makeReport = () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const from = writeSampleResults(join(folder, "sample"));
  const made = (name, what) => asOf(from, join(folder, name), what);
  const heads = (line) => line.shape.tokens >= 16;
  const wide = asOf(writeSampleResults(join(folder, "sample-of-one-width"), wideShapes), join(folder, "wide"),
    { processor: "Delta", revision: "aaaaaaaaaaaa", slower: wrapperOf });
  run("report", wide,
    made("one", { processor: "Alpha processor of a long name with 2 cores", revision: "aaaaaaaaaaaa" }),
    made("two", { processor: "Beta", revision: "aaaaaaaaaaaa", slower: (backend) => (backend === "tbb" ? 2.4 : 1.3) }),
    made("before", { processor: "Gamma", revision: "bbbbbbbbbbbb", month: 1, slower: () => 2.2 }),
    made("now", { processor: "Gamma", revision: "cccccccccccc", month: 2, slower: () => 2 }),
    made("cold", { processor: "Beta", revision: "aaaaaaaaaaaa", cache: "cold", slower: () => 3, share: heads }),
    "strange=" + made("strange", { processor: hostile, revision: hostile, slower: () => 1.5 }),
    "--price", "strange=0.19/h", "--out", join(folder, "page"));
  return join(folder, "page");
};

// 4 machines with 10 versions each.
const makeStore = () => {
  const from = writeSampleResults(join(folder, "sample-of-store"), sampleShapes(12));
  const store = join(folder, "store");
  for (let machine = 0; machine < 4; ++machine) {
    for (let version = 0; version < 10; ++version) {
      asOf(from, join(store, "machine-" + machine, "version-" + version), { processor: "Machine " + machine,
        revision: "abcdef00000" + version, month: version + 1, slower: () => 1 + 0.2 * machine + 0.001 * version });
    }
  }
  const cells = readdirSync(store).flatMap((machine) => readdirSync(join(store, machine)).map((version) =>
    linesOf(join(store, machine, version)).length)).reduce((sum, count) => sum + count, 0);
  check(cells >= 10000, "the store has only " + cells + " cells");
  run("report", store, "--out", join(folder, "page-of-store"));
  return join(folder, "page-of-store");
};

const open = async (browser, page, width) => {
  await browser.resize(width, 900);
  await browser.load(pathToFileURL(join(page, "index.html")).href);
};

const unfold = (browser) => browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })");

const checkWidth = async (browser, width, name) => {
  const wide = await browser.evaluate("document.documentElement.scrollWidth");
  check(wide <= width, name + " is " + wide + " pixels wide on a screen of " + width);
  const picture = join(folder, name + "-" + width + ".png");
  writeFileSync(picture, await browser.screenshot());
  check(readFileSync(picture).length > 20000, "an empty screenshot");
};

const checkTables = async (browser, where) => {
  await unfold(browser);
  const found = await browser.evaluate(`[...document.querySelectorAll(".table-box")]
    .filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => box.getAttribute("aria-label") + " by " + (box.scrollWidth - box.clientWidth))`);
  check(found.length === 0, where + ": cut off: " + found.slice(0, 5).join("; "));
  check(await browser.evaluate("[...document.querySelectorAll('.factors tr')].every((row) => getComputedStyle(row).display === 'table-row')"),
    where + ": a grid is not one");
  check(await browser.evaluate("document.querySelectorAll('.table-box').length") > 10, where + ": too few tables");
};

const sections = ["verdict", "founding-question", "answer", "machines", "winners", "pictures", "matrix", "versions", "precisions", "caches", "unverified",
  "cells", "method"];
const figures = ["time-by-heads", "share-by-heads", "precisions", "caches"];

const checkParts = async (browser) => {
  for (const id of sections) check(await browser.evaluate(`document.getElementById("${id}") !== null`), "no section " + id);
  for (const id of figures) {
    const marks = await browser.evaluate(`document.querySelectorAll("figure#${id} svg .mark").length`);
    check(marks >= 3, "the picture " + id + " has " + marks + " marks");
  }
  for (const verdict of ["won-1", "won-2", "won-3", "lost-1", "lost-2", "level", "unclear"]) {
    check(await browser.evaluate(`document.querySelector("#founding-question .factors .${verdict}") !== null`), "no field is " + verdict);
  }
  const command = await browser.evaluate("document.querySelector('#founding-question > p:last-child code').textContent");
  const planned = run("sweep", "--dry-run", ...command.split(" ").slice(1));
  for (const cell of ["wrapper/naive/f32/t1/B1_T16_D768_H1 ", "split/tbb/f32/", "/B1_T128_D1536_H96 "]) {
    check(planned.includes(cell), "'" + command + "' does not measure " + cell);
  }
  check(await browser.evaluate("document.querySelectorAll('script, link[href^=http], img').length") === 0, "something to load");
  check(await browser.evaluate("window.broken === undefined"), "markup in a name was run");
  check((await browser.evaluate("document.body.textContent")).includes("window.broken=1"), "a hostile name does not show as text");
};

// No mark and no word of a picture lies outside of it, and no word on another.
const checkPictures = async (browser, where) => {
  const found = await browser.evaluate(`(() => {
    const problems = [];
    for (const svg of document.querySelectorAll("svg.many")) {
      const frame = svg.getBoundingClientRect();
      const name = svg.closest("figure").id;
      const boxes = [...svg.querySelectorAll("text")].map((node) => ({ text: node.textContent, box: node.getBoundingClientRect() }));
      for (const node of svg.querySelectorAll(".mark path")) boxes.push({ mark: true, text: node.parentNode.textContent, box: node.getBoundingClientRect() });
      boxes.forEach(({ text, box, mark }, i) => {
        if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
          problems.push(name + ": '" + text + "' is cut off");
        }
        for (const other of mark ? [] : boxes.slice(i + 1)) {
          if (other.mark) continue;
          const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
          const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
          if (Math.min(across, down) > 1) problems.push(name + ": '" + text + "' on '" + other.text + "'");
        }
      });
    }
    return problems; })()`);
  check(found.length === 0, where + ": " + found.slice(0, 5).join("; "));
};

// Every link, every fold and every box that scrolls, in the order of the page and with a visible mark.
const checkKeyboard = async (browser) => {
  const wanted = await browser.evaluate(`(() => {
    const all = [...document.querySelectorAll("a[href], summary, [tabindex='0']")].filter((node) => node.checkVisibility());
    all.forEach((node, i) => { node.dataset.stop = i; });
    return all.length; })()`);
  await browser.evaluate("document.activeElement.blur(), scrollTo(0, 0)");
  const reached = new Set();
  let outlined = true;
  for (let i = 0; i < wanted + 5; ++i) {
    await browser.press("Tab");
    const at = await browser.evaluate("document.activeElement.dataset.stop ?? ''");
    if (at === "") continue;
    reached.add(at);
    outlined &&= await browser.evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'");
  }
  check(wanted > 20, "only " + wanted + " places to reach");
  check(reached.size === wanted, reached.size + " of " + wanted + " places are reached with the Tab key");
  check(outlined, "a place in focus shows no outline");
};

// Words have a contrast of 4.5 to what they stand on, and marks one of 3.
const checkContrast = async (browser, mode) => {
  const found = await browser.evaluate(`(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const light = (colour) => {
      canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
      const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const ground = getComputedStyle(document.body).backgroundColor;
    const behind = (node) => {
      for (let at = node; at; at = at.parentElement) {
        const colour = getComputedStyle(at).backgroundColor;
        if (!/rgba\\(.*, 0\\)|transparent/.test(colour)) return colour;
      }
      return ground;
    };
    const problems = new Set();
    for (const node of document.querySelectorAll("body *")) {
      if (node.closest("style") || ![...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
      if (node.tagName === "title") continue;
      const style = getComputedStyle(node);
      const ratio = contrast(node.closest("svg") ? style.fill : style.color, behind(node));
      if (ratio < 4.5) problems.add(node.tagName + " '" + node.textContent.slice(0, 30) + "' " + ratio.toFixed(2));
    }
    for (const node of document.querySelectorAll(".mark path")) {
      const ratio = contrast(getComputedStyle(node).fill, ground);
      if (ratio < 3) problems.add("a mark " + ratio.toFixed(2));
    }
    return [...problems]; })()`);
  check(found.length === 0, mode + ": " + found.slice(0, 8).join("; "));
};

// A code host shows a picture that is not well-formed as a broken one.
const checkFiles = async (browser, page) => {
  for (const name of readdirSync(join(page, "pictures"))) {
    const text = readFileSync(join(page, "pictures", name), "utf8");
    const error = await browser.evaluate(`new DOMParser().parseFromString(${JSON.stringify(text)}, "image/svg+xml")
      .querySelector("parsererror")?.textContent ?? ""`);
    check(error === "", name + " is not well-formed: " + error);
    check(readFileSync(join(page, "report.md"), "utf8").includes("pictures/" + name), name + " is not in report.md");
  }
};

const checkPage = async (browser, page) => {
  await open(browser, page, 1280);
  await checkParts(browser);
  await checkKeyboard(browser);
  await checkFiles(browser, page);
  await checkContrast(browser, "light");
  await browser.media([{ name: "prefers-color-scheme", value: "dark" }]);
  await checkContrast(browser, "dark");
  await browser.media([]);
  for (const width of [1280, 768, 400]) {
    await open(browser, page, width);
    await checkWidth(browser, width, "page");
    await checkTables(browser, width + " pixels");
    await checkPictures(browser, width + " pixels");
    await checkWidth(browser, width, "page-unfolded");
  }
};

const checkStore = async (browser, page) => {
  const bytes = readFileSync(join(page, "index.html")).length;
  check(bytes < 4 << 20, "the page of the store has " + bytes + " bytes");
  await open(browser, page, 1280);
  check(await browser.evaluate("document.querySelectorAll('#cells tbody tr').length") >= 10000, "cells are missing on the page of the store");
  await checkWidth(browser, 1280, "store");
};

const path = findBrowser();
if (!path) {
  console.log("skipped: no browser could be installed, and none is on PATH");
  process.exit(77);
}
const page = makeReport();
const store = makeStore();
const browser = await openBrowser(path, join(folder, "profile"));
try {
  await checkPage(browser, page);
  await checkStore(browser, store);
  problems.push(...browserProblems(browser));
} finally {
  await browser.close();
}
exitWith(problems);
