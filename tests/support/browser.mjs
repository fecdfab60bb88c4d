// A headless browser, driven over a pipe by the DevTools protocol: no port, no driver to install.
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";

export const findBrowser = () => {
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  for (const folder of (process.env.PATH || "").split(":")) {
    for (const name of names) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch { /* the next one */ }
    }
  }
  return "";
};

const connect = (child, onEvent) => {
  const waiting = new Map();
  let last = 0;
  let text = "";
  child.stdio[4].setEncoding("utf8");
  child.stdio[4].on("data", (part) => {
    text += part;
    for (let end = text.indexOf("\0"); end >= 0; end = text.indexOf("\0")) {
      const message = JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
      const answer = waiting.get(message.id);
      if (!answer) onEvent(message);
      else if (message.error) answer.reject(new Error(message.error.message));
      else answer.resolve(message.result);
    }
  });
  child.on("exit", () => {
    for (const answer of waiting.values()) answer.reject(new Error("the browser ended"));
  });
  return (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    child.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
  });
};

export const openBrowser = async (path, profile) => {
  const child = spawn(path, ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
    "--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking", "--user-data-dir=" + profile,
    "--host-resolver-rules=MAP * ~NOTFOUND"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const errors = [];
  let loaded = () => {};
  const requests = [];
  const wanted = { "Runtime.exceptionThrown": (e) => errors.push(e.exceptionDetails.exception?.description || e.exceptionDetails.text),
    "Runtime.consoleAPICalled": (e) => { if (e.type === "error" || e.type === "warning") errors.push(e.args.map((a) => a.value || a.description).join(" ")); },
    "Log.entryAdded": (e) => { if (e.entry.level === "error") errors.push(e.entry.text); },
    "Page.loadEventFired": () => loaded(),
    "Network.requestWillBeSent": (e) => requests.push(e.request.url) };
  const send = connect(child, (event) => wanted[event.method]?.(event.params));
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params) => send(method, params, sessionId);
  for (const domain of ["Runtime", "Page", "Log", "Network"]) await call(domain + ".enable");
  await call("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0 });

  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate",
      { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(expression + ": " + exceptionDetails.exception.description);
    return result.value;
  };
  const key = (type, name) => call("Input.dispatchKeyEvent", { type, key: name, code: name, windowsVirtualKeyCode: 9 });
  return {
    errors, requests, evaluate,
    async load(url) {
      const done = new Promise((resolve) => { loaded = resolve; });
      await call("Page.navigate", { url });
      await done;
    },
    resize: (width, height) => call("Emulation.setDeviceMetricsOverride",
      { width, height, deviceScaleFactor: 1, mobile: false }),
    media: (features, media = "") => call("Emulation.setEmulatedMedia", { features, media }),
    async until(expression, what) {
      for (let i = 0; i < 200; ++i) {
        if (await evaluate(expression)) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error("waited 10 s until " + what + "; console: " + errors.join("; "));
    },
    async move(x, y) {
      await call("Input.dispatchMouseEvent", { type: "mouseMoved", x: x - 3, y });
      await call("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
      await new Promise((resolve) => setTimeout(resolve, 150));
    },
    async press(name) {
      await key("rawKeyDown", name);
      await key("keyUp", name);
    },
    async print() {
      return Buffer.from((await call("Page.printToPDF", {})).data, "base64");
    },
    async screenshot() {
      const { data } = await call("Page.captureScreenshot", { captureBeyondViewport: true });
      return Buffer.from(data, "base64");
    },
    async close() {
      await send("Browser.close").catch(() => {});
      await new Promise((resolve) => (child.exitCode === null ? child.on("exit", resolve) : resolve()));
    },
  };
};

// What went wrong in any page so far: errors in the console, and requests that leave the machine.
export const browserProblems = ({ errors, requests }) => [
  ...errors.map((error) => "console: " + error),
  ...requests.filter((request) => !/^(file|data|blob):/.test(request))
    .map((request) => "something was asked of the network: " + request)];

export const exitWith = (problems) => {
  for (const problem of problems) console.error("wrong: " + problem);
  console.log(problems.length === 0 ? "all is well" : problems.length + " problems");
  process.exit(problems.length === 0 ? 0 : 1);
};
