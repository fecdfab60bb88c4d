// Colours that colour-blind readers can distinguish (Okabe and Ito 2008), each with its own symbol.
headroom.theme = (() => {
  const kLooks = [
    { light: "#6b7280", dark: "#9ca3af", symbol: "circle" },
    { light: "#b97a00", dark: "#e69f00", symbol: "rect" },
    { light: "#2b8cc4", dark: "#56b4e9", symbol: "triangle" },
    { light: "#c44e00", dark: "#f0803c", symbol: "diamond" },
    { light: "#007a5a", dark: "#17a07a", symbol: "roundRect" },
    { light: "#a8488a", dark: "#dd8fc0", symbol: "pin" },
    { light: "#7a6a00", dark: "#f0e442", symbol: "arrow" },
    { light: "#3b4fa0", dark: "#8fa2f0", symbol: "circle" },
  ];
  const kFormulations = {
    split: { line: "solid", filled: true },
    wrapper: { line: "dotted", filled: false },
    fused: { line: "dashed", filled: false },
  };
  // Of numbers other than f32, each with a mark that no backend and no other numbers have; stored as bf16 it is open.
  const kNumbers = {
    bf16x9: "path://M4 0L5 3L8 3L5.6 5L6.5 8L4 6.2L1.5 8L2.4 5L0 3L3 3Z",
    bf16x6: "path://M2.5 0H5.5V2.5H8V5.5H5.5V8H2.5V5.5H0V2.5H2.5Z",
    fp16x3: "path://M0 0H8L4 4L8 8H0L4 4Z",
    bf16x3: "path://M0 0L8 0L4 8Z",
    bf16: "path://M4 0L8 3L6.5 8H1.5L0 3Z",
    f32: "path://M0 0V8L4 4L8 8V0L4 4Z",
  };
  // Of what is stored otherwise than x and y: weights, cache, or both.
  const kStored = {
    wbf16: "path://M0 0H8V3H5V8H3V3H0Z",
    wq8: "path://M2.5 0H5.5L8 2.5V5.5L5.5 8H2.5L0 5.5V2.5Z",
    wq4: "path://M2 0H6L8 8H0Z",
    cbf16: "path://M0 8H8V5H5V0H3V5H0Z",
    cq8: "path://M4 0L8 4L6 8H2L0 4Z",
    both: "path://M0 3H3V0H8V5H5V8H0Z",
    // Multiplied as bytes as well.
    int8wq8: "path://M0 0H8V8H5V3H3V8H0Z",
    int8wq4: "path://M0 8V0H3V5H5V0H8V8Z",
  };
  const markOf = (numbers) => {
    const [precision, ...rest] = numbers.split("-");
    const stored = rest.filter((part) => /^[wc]/.test(part));
    if (stored.length === 0) return kNumbers[precision] || "circle";
    return kStored[precision + stored.join("")] || (stored.length > 1 ? kStored.both : kStored[stored[0]]) || "circle";
  };
  // Of a peer, whatever its formulation: its name beside the line tells that.
  const kPeer = { line: [8, 3, 2, 3], width: 1, filled: false };
  const kPeerSymbols = ["path://M0 0L8 8M0 8L8 0", "path://M4 0L4 8M0 4L8 4"];
  const kLight = {
    dark: false, background: "#ffffff", text: "#1b1f24", muted: "#59636e", line: "#d1d9e0",
    grid: "#eaeef2", phases: ["#0b5394", "#6fa8dc", "#c9c9c9", "#e6a04d"], phaseText: ["#fff", "#111", "#111", "#111"],
    alarm: "#c44e00", better: [11, 83, 148], worse: [176, 84, 0], unclear: "#e3e6ea",
  };
  const kDark = {
    dark: true, background: "#12161b", text: "#e6eaef", muted: "#9aa5b1", line: "#3a434d",
    grid: "#252c34", phases: ["#2f78c4", "#8fbce6", "#5b646e", "#c98a3f"], phaseText: ["#fff", "#111", "#fff", "#111"],
    alarm: "#f0803c", better: [64, 146, 220], worse: [226, 128, 48], unclear: "#2f363e",
  };
  // By position in the program's list, so that a backend looks the same in every report.
  const places = new Map();
  const look = (backend) => {
    if (!places.has(backend)) places.set(backend, places.size);
    return kLooks[places.get(backend) % kLooks.length];
  };
  const peers = new Set();
  const between = (from, to, share) => from.map((v, i) => Math.round(v + (to[i] - v) * share));
  const mix = (from, to, share) => "rgb(" + between(from, to, share).join(",") + ")";
  const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

  const theme = (dark) => {
    const base = dark ? kDark : kLight;
    // Full strength at a factor of 4.
    const ofRatio = (value) => between(parts(base.background), value > 1 ? base.better : base.worse,
      Math.min(1, Math.abs(Math.log2(value)) / 2));
    return {
      ...base,
      // Single quotes inside, because the names appear in attributes of SVG files.
      font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
      colour: (backend) => look(backend)[dark ? "dark" : "light"],
      // The same for words, which need more contrast than marks do.
      ink: (backend) => mix(parts(look(backend)[dark ? "dark" : "light"]), parts(base.text), 0.35),
      // By the name of a cell after its backend, such as "split bf16x6".
      symbol(backend, way) {
        if (peers.has(backend)) return kPeerSymbols[[...peers].indexOf(backend) % kPeerSymbols.length];
        const numbers = (way || "").split(" ")[1];
        return numbers ? markOf(numbers) : look(backend).symbol;
      },
      lineOf(backend, way) {
        if (peers.has(backend)) return kPeer;
        const [formulation, numbers] = way.split(" ");
        const line = kFormulations[formulation] || kFormulations.split;
        return { width: 2, ...line, filled: numbers ? !numbers.includes("-") : line.filled };
      },
      // Colour of a ratio: blue above 1, orange below.
      ratio: (value) => "rgb(" + ofRatio(value).join(",") + ")",
      // Black or white, whichever contrasts more: both have 4.58 at a luminance of 0.179.
      ratioText(value) {
        const linear = ofRatio(value).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? "#000000" : "#ffffff";
      },
    };
  };
  theme.order = (backends) => backends.forEach(look);
  theme.place = (backend) => look(backend) && places.get(backend);
  theme.setPeers = (names) => {
    peers.clear();
    names.forEach((name) => peers.add(name));
  };
  theme.isPeer = (name) => peers.has(name);
  return theme;
})();
