"use strict";

/* Curves with round ticks; a pointer on one shows its values. */

const HEIGHT = 210;
const [LEFT, RIGHT, ABOVE, BELOW] = [52, 22, 10, 34];

function formatNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3) return value.toExponential(1).replace(".0e", "e");
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

function formatDuration(seconds) {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  if (minutes >= 10 || (minutes && whole % 60 === 0)) return `${minutes} min`;
  return minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

/* A round step of which about so many fill a span. */
function roundStep(span, count) {
  const power = 10 ** Math.floor(Math.log10(span / count));
  return power * [1, 2, 5, 10].find((base) => base * power >= (span / count) * 0.999);
}

/* The multiples of a step between two values. */
function multiples(step, low, high) {
  const first = Math.ceil(low / step - 1e-6);
  const count = Math.floor(high / step + 1e-6) - first + 1;
  return Array.from({ length: count }, (_, number) => (first + number) * step || 0);
}

function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
  }
  const within = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  return within.length > 7 ? within.filter((tick) => Math.abs(Math.log10(tick) % 1) < 1e-6) : within;
}

const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400];

function timeTicks(last, count) {
  const step = TIMES.find((each) => last / each <= count) || 86400 * Math.ceil(last / 86400 / count);
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, number) => number * step);
}

/* The lowest and highest value to show. The first losses may lie far above: a logarithmic axis shows
   them, a linear one leaves them out. */
function valueRange(lines, log) {
  const values = lines.flatMap((line) => line.points.map((point) => point[1])).filter((value) => !log || value > 0);
  values.sort((one, other) => one - other);
  const most = !log && values.length > 50 && lines[0].falls ? Math.floor(0.97 * values.length) : values.length - 1;
  let [low, high] = [values[0], values[most]];
  if (high === 0 && low === 0) [low, high] = [0, 1];
  else if (high <= low) [low, high] = log ? [low / 2, low * 2] : [low - Math.abs(low) / 2 - 1e-12, low + Math.abs(low) / 2 + 1e-12];
  if (!log && low > 0 && (low < 0.4 * high || lines[0].fromZero)) low = 0;
  return [low, high];
}

/* The mapping from values to pixels, and the ticks; a linear axis begins and ends with one. */
function valueAxis(lines, log) {
  let [low, high] = valueRange(lines, log);
  const step = roundStep(high - low, 5);
  if (!log) [low, high] = [Math.floor(low / step + 1e-6) * step, Math.ceil(high / step - 1e-6) * step];
  const ticks = log ? logTicks(low, high) : multiples(step, low, high);
  const at = log ? Math.log : (value) => value;
  const [start, span] = [at(low), at(high) - at(low)];
  const y = (value) => {
    const part = (at(Math.max(value, log ? low : value)) - start) / span;
    return ABOVE + (1 - Math.max(0, Math.min(1, part))) * (HEIGHT - ABOVE - BELOW);
  };
  return { ticks, y };
}

/* A chart that is updated in place, up to the last step or second of all. Lines are { name, tone, points: [x, value] }; one that `falls`
   may leave out its first values, one `fromZero` keeps the zero. */
class Chart {
  constructor(title) {
    this.svg = make("svg", { class: "chart", role: "img" });
    this.caption = make("figcaption", {});
    this.output = make("output", {});
    this.cursor = make("g", {});
    this.title = title;
    this.element = make("figure", {}, this.caption, this.svg);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.leave());
  }

  update(lines, { log, byTime, last }) {
    this.lines = lines.filter((line) => line.points.length);
    this.byTime = byTime;
    const width = Math.max(260, this.svg.clientWidth || 460);
    const { ticks, y } = valueAxis(this.lines, log);
    const x = (value) => LEFT + (value / last) * (width - LEFT - RIGHT);
    Object.assign(this, { x, y, last });
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const count = Math.max(2, Math.floor(width / 90));
    const across = byTime ? timeTicks(last, count) : multiples(roundStep(last, count), 0, last);
    const parts = ticks.flatMap((tick) => [
      make("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick) }),
      named("text", formatNumber(tick), { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }),
    ]);
    for (const tick of across) {
      const text = byTime ? formatDuration(tick) : tick.toLocaleString("en");
      parts.push(make("line", { class: "axis", x1: x(tick), x2: x(tick), y1: HEIGHT - BELOW, y2: HEIGHT - BELOW + 4 }));
      parts.push(named("text", text, { x: x(tick), y: HEIGHT - BELOW + 16, "text-anchor": tick === 0 ? "start" : byTime && x(tick) > width - 32 ? "end" : "middle" }));
    }
    parts.push(named("text", byTime ? "time" : "step", { x: width - RIGHT, y: HEIGHT - 3, "text-anchor": "end" }));
    this.lines.forEach((line) => parts.push(...this.curve(line)));
    this.svg.replaceChildren(...parts, this.cursor);
    this.svg.setAttribute("aria-label", `${this.title}: ${this.lines.map((line) => `${line.name} ${formatNumber(line.points[line.points.length - 1][1])}`).join(", ")}`);
    this.explain(log);
  }

  curve(line) {
    const path = line.points.map(([at, value]) => `${this.x(at).toFixed(1)},${this.y(value).toFixed(1)}`);
    const found = [make("path", { class: `line-${line.tone}`, d: `M${path.join("L")}` })];
    if (line.points.length > 40) return found;
    for (const [at, value] of line.points) found.push(make("circle", { class: `line-${line.tone}`, cx: this.x(at), cy: this.y(value), r: 2.6 }));
    return found;
  }

  explain(log) {
    const keys = this.lines.map((line) => make("span", { class: "key" }, swatch(colour(`--head-${line.tone}`)), line.name));
    const scale = log ? named("span", "logarithmic", { class: "key" }) : null;
    const parts = [named("strong", this.title), ...(this.lines.length > 1 ? keys : []), scale, this.output];
    this.caption.replaceChildren(...parts.filter(Boolean));
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const at = ((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT)) * this.last;
    const nearest = (points) => points.reduce((best, each) => (Math.abs(each[0] - at) < Math.abs(best[0] - at) ? each : best));
    const found = this.lines.map((line) => [line, nearest(line.points)]);
    const [, [first]] = found[0];
    const marks = found.map(([line, [where, value]]) => make("circle", { class: `line-${line.tone}`, cx: this.x(where), cy: this.y(value), r: 4 }));
    this.cursor.replaceChildren(make("line", { class: "cursor", x1: this.x(first), x2: this.x(first), y1: ABOVE, y2: HEIGHT - BELOW }), ...marks);
    const place = this.byTime ? formatDuration(first) : `step ${first.toLocaleString("en")}`;
    this.output.textContent = `${place}: ${found.map(([, [, value]]) => formatNumber(value)).join(", ")}`;
  }

  leave() {
    this.cursor.replaceChildren();
    this.output.textContent = "";
  }
}
