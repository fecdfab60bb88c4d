"use strict";
// Figures for people: three digits and a unit.
const headroom = { charts: [] };

headroom.format = {
  digits(value, count = 3) {
    if (!Number.isFinite(value)) return "-";
    const text = value.toPrecision(count);
    return text.includes("e") ? String(Number(text)) : text;
  },
  seconds(value) {
    if (value < 1e-3) return this.digits(value * 1e6) + " us";
    if (value < 1) return this.digits(value * 1e3) + " ms";
    return this.digits(value) + " s";
  },
  // Of something that is counted, or used.
  large(value, unit) {
    const steps = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"]];
    const [size, prefix] = steps.find(([step]) => value >= step) || (value === 0 ? [1, ""] : steps.at(-1));
    return this.digits(value / size) + " " + (prefix + unit).trim();
  },
  times(value) {
    return this.digits(value) + " ×";
  },
  percent(share) {
    return (100 * share).toFixed(share < 0.095 ? 1 : 0) + " %";
  },
  // Of a hundred, however small.
  share(value) {
    return (value === 0 ? "0" : this.digits(100 * value, 2)) + " %";
  },
  scientific(value) {
    return value.toExponential(1);
  },
  // What a result's error is held to.
  errorLimit(error) {
    return error.bound_ratio === undefined ? this.scientific(error.limit) : "by element";
  },
  interval(item, unit) {
    return unit.call(this, item.low) + " to " + unit.call(this, item.high);
  },
  count(number, noun) {
    return number + " " + noun + (number === 1 ? "" : "s");
  },
  // Those of a call, or in the cache before a step.
  tokens(cell) {
    return cell.shape.past > 0 ? cell.shape.tokens + " after " + cell.shape.past : String(cell.shape.tokens);
  },
  threads(number) {
    return this.count(number, "thread");
  },
  // Names come from files, and tooltips are HTML.
  escape(text) {
    const marks = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
    return String(text).replace(/[&<>"']/g, (mark) => marks[mark]);
  },
};
