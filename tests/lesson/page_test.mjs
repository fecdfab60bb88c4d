// The page of a lesson in a real browser, from disk and without a network: nothing goes wrong, everything
// is drawn, the tokens turn, and nothing is wider than the screen.
// Usage: node page_test.mjs HEADROOM FOLDER. Exits with 77 and a reason if it cannot run.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { browserProblems, exitWith, findBrowser, openBrowser } from "../support/browser.mjs";

const [program, folder] = process.argv.slice(2);
const problems = [];
const check = (holds, what) => { if (!holds) problems.push(what); };

const run = (...words) => {
  const done = spawnSync(program, ["explain", ...words], { encoding: "utf8", maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(words.join(" ") + " ended with " + done.status + ": " + done.stderr);
  return done.stdout;
};

const makePage = (name, ...words) => {
  const file = join(folder, name + ".html");
  const printed = run(...words, "--page", file);
  check(printed.trim() === file, "explain prints '" + printed + "' instead of the page's path");
  return file;
};

const open = async (browser, page, width) => {
  await browser.resize(width, 900);
  await browser.load(pathToFileURL(page).href);
  await browser.until("document.documentElement.dataset.ready === 'yes'", "the page is drawn");
};

const checkWidth = async (browser, name, width) => {
  const wide = await browser.evaluate("document.documentElement.scrollWidth");
  check(wide <= width, name + " is " + wide + " pixels wide on a screen of " + width);
  const picture = join(folder, name + "-" + width + ".png");
  writeFileSync(picture, await browser.screenshot());
  check(readFileSync(picture).length > 20000, "an empty screenshot of " + name);
};

const count = (browser, selector) => browser.evaluate(`document.querySelectorAll(${JSON.stringify(selector)}).length`);

// The page holds what the JSON holds.
const checkContents = async (browser, lesson) => {
  check(await count(browser, ".step") === lesson.steps.length, "steps: " + await count(browser, ".step"));
  const values = lesson.steps.flatMap((step) => step.values);
  check(await count(browser, ".values details") === values.length, "values: " + await count(browser, ".values details"));
  const stations = await browser.evaluate("[...document.querySelectorAll('.path li')].map((li) => li.textContent)");
  const expected = values.filter((value) => value.on_path);
  check(stations.length === expected.length, "stations: " + stations);
  check(stations[0].includes("(B, T, d_in)") && stations[0].includes("(2, 6, 3)"), "the path begins with " + stations[0]);
  const last = stations[stations.length - 1];
  check(last.includes("(2, 6, 2)"), "the path ends with " + last);
  const text = await browser.evaluate("document.querySelector('main').innerText");
  for (const words of ["0.3190", "0.4858", "journey", "(2, 2, 6, 6)"]) check(text.includes(words), "no " + words);
};

const checkHeads = async (browser, lesson) => {
  const weights = lesson.steps.flatMap((step) => step.values).find((value) => value.kind === "attention" && value.on_path);
  check(await count(browser, "#heads figure") === weights.shape[0] * weights.shape[1], "not one map per head");
  const [first, second] = await browser.evaluate(`[...document.querySelectorAll("#heads figure:first-child td")]
    .map((cell) => cell.textContent + "/" + getComputedStyle(cell).backgroundColor).slice(1, 3)`);
  check(first.startsWith("1.00/") && second.startsWith("0/"), "the first cells are " + first + " and " + second);
  check(first.split("/")[1] !== second.split("/")[1], "a weight of 1 looks like one of 0");
};

const positions = (browser) => browser.evaluate(
  "[...document.querySelectorAll('.space circle')].map((c) => c.getAttribute('cx') + ' ' + c.getAttribute('cy')).join()");

const checkTokens = async (browser, words) => {
  check(await count(browser, ".space circle") === words.length, "points: " + await count(browser, ".space circle"));
  const before = await positions(browser);
  await browser.evaluate("document.querySelector('.space').focus()");
  await browser.press("ArrowLeft");
  const turned = await positions(browser);
  check(turned !== before, "the arrow key turns nothing");
  await browser.press("Home");
  check(await positions(browser) === before, "Home does not turn back");
  await browser.evaluate(`(() => {
    const space = document.querySelector(".space");
    const send = (type, x) => space.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: x, clientY: 0 }));
    space.setPointerCapture = () => {};
    send("pointerdown", 0); send("pointermove", 40); send("pointerup", 40);
  })()`);
  check(await positions(browser) !== before, "the pointer turns nothing");
};

const checkFormulations = async (browser, lesson) => {
  check(await count(browser, "#formulations rect.query") === lesson.products.wrapper / 3 + 1 + 1, "blocks of the query");
  const rows = await browser.evaluate(`[...document.querySelectorAll("#formulations tbody tr")].map((row) =>
    [...row.cells].map((cell) => cell.textContent))`);
  const told = await browser.evaluate(`[...document.querySelectorAll("#formulations .findings")].map((p) => p.textContent)`);
  const captions = await browser.evaluate(`[...document.querySelectorAll("#formulations caption")].map((c) => c.textContent)`);
  const heads = captions.map((caption) => Number.parseInt(caption));
  check(heads.join() === "1,12,96" && captions.every((text) => text.includes("width 768, 16 tokens")), "shapes: " + captions);
  check(told.length === 3 && told.every((text) => /naive/.test(text) && /xsimd/.test(text)), "findings: " + told);
  const note = await browser.evaluate("document.querySelector('#formulations .verdict-note').textContent");
  check(note.includes(rows.length + " rows are tested together"), "the note of the verdicts: " + note);
  check(rows.length >= 4 && rows.every((row) => /s$/.test(row[1]) && /s$/.test(row[2])), "times: " + JSON.stringify(rows));
};

const checkDark = async (browser) => {
  const look = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.querySelector('#heads td + td')).backgroundColor";
  const light = await browser.evaluate(look);
  await browser.media([{ name: "prefers-color-scheme", value: "dark" }]);
  check(light !== await browser.evaluate(look), "dark mode changes nothing");
  writeFileSync(join(folder, "split-dark.png"), await browser.screenshot());
  await browser.media([]);
};

const checkSplit = async (browser) => {
  const page = makePage("split", "split");
  const lesson = JSON.parse(run("split", "--json"));
  for (const width of [1280, 400]) {
    await open(browser, page, width);
    await checkWidth(browser, "split", width);
    await checkContents(browser, lesson);
    await checkHeads(browser, lesson);
    await checkTokens(browser, lesson.words);
    await checkFormulations(browser, lesson);
  }
  await checkDark(browser);
};

// Heads of a latent are no matter of wrapper and split, so nothing is measured for their page.
const checkLatents = async (browser) => {
  await open(browser, makePage("deepseek", "deepseek"), 400);
  const text = await browser.evaluate("document.querySelector('main').innerText");
  for (const words of ["(q W_key^T) latent^T", "512 + 64 = 576", "What each order multiplies"]) {
    check(text.includes(words), "no " + words + " on the page of deepseek");
  }
  check(await count(browser, "#formulations") === 0, "a lesson of latents has formulations");
  check(await count(browser, "#heads figure") === 2, "not one map per head of the latent");
  await checkWidth(browser, "deepseek", 400);
};

// Every other kind of lesson is drawn too, without what it has not.
const checkOthers = async (browser) => {
  await open(browser, makePage("simplified", "simplified"), 400);
  check(await count(browser, "#formulations") === 0, "a lesson without heads has formulations");
  await checkWidth(browser, "simplified", 400);
  await open(browser, makePage("gpt-oss", "gpt-oss"), 400);
  const text = await browser.evaluate("document.querySelector('main').innerText");
  for (const words of ["Softmax with a sink", "share of the sink", "amplitude"]) {
    check(text.includes(words), "no " + words + " on the page of gpt-oss");
  }
  await checkWidth(browser, "gpt-oss", 400);
  await checkLatents(browser);
  const table = join(folder, "own.txt");
  const rows = Array.from({ length: 40 }, (_, t) => `<b>w${t}</b> ` +
    Array.from({ length: 8 }, (_, c) => Math.sin(t * 8 + c).toFixed(4)).join(" "));
  writeFileSync(table, rows.join("\n"));
  await open(browser, makePage("own", "causal", "--input", table), 1280);
  check(await count(browser, "main b") === 0, "a word of the input became markup");
  check(await count(browser, ".space circle") === 40, "not one point per token");
  check(await count(browser, "#heads canvas") === 1, "a large map is no canvas");
  check(await browser.evaluate(`(() => { const map = document.querySelector("#heads canvas");
    const data = map.getContext("2d").getImageData(0, 0, map.width, map.height).data; return data[3] > 200 && data[7] === 0;
  })()`), "the first row of the large map is not all on the first token");
  await checkWidth(browser, "own", 1280);
};

const path = findBrowser();
if (!path) {
  console.log("skipped: no browser could be installed, and none is on PATH");
  process.exit(77);
}
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const browser = await openBrowser(path, join(folder, "profile"));
try {
  await checkSplit(browser);
  await checkOthers(browser);
  problems.push(...browserProblems(browser));
} finally {
  await browser.close();
}
exitWith(problems);
