"use strict";

/* A run during training: figures, curves, and its translations of a few sentences at each validation.
   What is on the page is updated in place. */

let known = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const chosen = { step: null, sentence: 0, axis: "step", loss: null };
const snapshots = new Map();
const seen = [];
let lost = false;

const UPDATE = 2000;
const TITLES = { loss: "loss per token", rate: "learning rate", tokens_per_second: "tokens per second" };

/* The elements that stay. */
const title = make("h1", { class: "title", dir: "auto" });
const banner = make("p", { class: "banner", role: "status" });
const figures = make("dl", { class: "figures" });
const axes = make("div", { class: "tools" });
const charts = make("div", { class: "charts" });
const empty = named("p", "No validation yet; translations appear with the first one.", { class: "note" });
const slider = make("input", { type: "range", min: 0, "aria-label": "step of the translations" });
const label = make("output", {});
const newest = named("button", "newest", { type: "button", title: "Follow the newest validation" });
const time = make("div", { class: "time" }, named("h2", "Translations"), slider, label, newest);
const sentences = make("div", { class: "sentences", role: "group", "aria-label": "sentence" });
const maps = make("div", { class: "maps" });
const snapshot = make("div", { class: "snapshot" }, sentences, maps);
const drawnCharts = new Map();

/* The points [x, value] of a column; x is the step or the time. */
function pointsOf(table, name) {
  const values = table[name] || [];
  const at = chosen.axis === "time" ? table.step.map(timeAt) : table.step;
  return values.map((value, index) => [at[index], value]).filter(([where, value]) => where !== null && value !== null);
}

/* Seconds since the start at a step, between those of the records around it. */
function timeAt(step) {
  const { step: steps, time: times } = known.training;
  const after = steps.findIndex((each, index) => each >= step && times[index] !== null);
  if (after < 0) return times[times.length - 1];
  if (after === 0 || steps[after] === step) return times[after] * Math.min(1, step / steps[after]);
  const [one, other] = [after - 1, after];
  return times[one] + ((times[other] - times[one]) * (step - steps[one])) / (steps[other] - steps[one]);
}

function lastOf(table, name) {
  return (table[name] || []).filter((value) => value !== null).pop();
}

/* Seconds per step, by the latest records or, where they have no time, by what the page has seen. */
function pace() {
  const { step: steps, time: times } = known.training;
  const past = times ? times.map((at, index) => [at, steps[index]]).filter(([at]) => at !== null).slice(-20) : seen.slice(-30);
  if (past.length < 2) return null;
  const [[start, from], [end, to]] = [past[0], past[past.length - 1]];
  return to > from && end > start ? (end - start) / (to - from) : null;
}

function figure(name, value, remark, part) {
  const shown = named("dd", value);
  if (remark) shown.append(named("small", remark));
  if (part !== undefined) {
    const bar = make("b", {});
    bar.style.width = `${(100 * Math.min(1, part)).toFixed(1)}%`;
    shown.append(make("div", { class: "progress" }, bar));
  }
  return make("div", {}, named("dt", name), shown);
}

function bestOf(name) {
  const values = known.validation[name] || [];
  const steps = known.validation.step;
  const better = (one, other) => (known.higher ? one > other : one < other);
  let best = -1;
  values.forEach((value, index) => {
    if (value !== null && (best < 0 || better(value, values[best]))) best = index;
  });
  return best < 0 ? null : [values[best], steps[best]];
}

function showFigures() {
  const { training, validation, steps, step, metric } = known;
  const found = [];
  const add = (...parts) => found.push(figure(...parts));
  add("step", step.toLocaleString("en"), steps ? `of ${steps.toLocaleString("en")}` : "", steps ? step / steps : undefined);
  const elapsed = lastOf(training, "time");
  if (elapsed !== undefined) add("elapsed", formatDuration(elapsed));
  const seconds = pace();
  if (known.live && seconds !== null && steps > step) add("remaining", formatDuration((steps - step) * seconds), "estimated");
  const speed = lastOf(training, "tokens_per_second");
  if (speed !== undefined) add("speed", formatNumber(speed), "tokens per second");
  const rate = lastOf(training, "rate");
  if (rate !== undefined) add("learning rate", formatNumber(rate));
  const loss = lastOf(training, "loss");
  if (loss !== undefined) add("training loss", formatNumber(loss), "per token");
  const checked = lastOf(validation, "loss");
  if (checked !== undefined) add("validation loss", formatNumber(checked), "per token");
  const best = bestOf(metric);
  if (best && metric !== "loss") add(`best ${metric}`, formatNumber(best[0]), `at step ${best[1].toLocaleString("en")}`);
  figures.replaceChildren(...found);
}

function choiceOf(titleText, name, options, now) {
  const buttons = options.map(([value, text]) => {
    const button = named("button", text, { type: "button", "data-choice": name, "aria-pressed": String(now === value) });
    button.addEventListener("click", () => {
      chosen[name] = value;
      showCharts();
      axes.querySelectorAll(`[data-choice=${name}]`)[options.findIndex((each) => each[0] === value)].focus();
    });
    return button;
  });
  return make("div", { class: "choice", role: "group", "aria-label": titleText }, named("span", titleText), make("div", {}, ...buttons));
}

/* A logarithmic axis where the loss falls to less than an eighth. */
function lossIsLog(lines) {
  if (chosen.loss !== null) return chosen.loss === "log";
  const values = lines.flatMap((line) => line.points.map((point) => point[1]));
  return Math.min(...values) > 0 && Math.max(...values) > 8 * Math.min(...values);
}

/* What to draw: by title, the lines. */
function curves() {
  const found = new Map();
  const { training, validation } = known;
  const line = (name, tone, points, shape) => ({ name, tone, points, ...shape });
  const falls = { falls: true };
  found.set("loss", [line("training", 1, pointsOf(training, "loss"), falls), line("validation", 2, pointsOf(validation, "loss"), falls)]);
  for (const name of Object.keys(validation)) {
    if (!["step", "loss", "time"].includes(name)) found.set(name, [line(name, 2, pointsOf(validation, name))]);
  }
  for (const name of ["rate", "tokens_per_second"]) found.set(name, [line(TITLES[name], 1, pointsOf(training, name), { fromZero: true })]);
  for (const [name, lines] of found) if (!lines.some((each) => each.points.length)) found.delete(name);
  return found;
}

function showCharts() {
  const timed = (known.training.time || []).some((value) => value !== null);
  if (!timed) chosen.axis = "step";
  const found = curves();
  const log = found.has("loss") && lossIsLog(found.get("loss"));
  const tools = [];
  if (timed) tools.push(choiceOf("curves over", "axis", [["step", "steps"], ["time", "time"]], chosen.axis));
  if (found.has("loss")) tools.push(choiceOf("loss axis", "loss", [["linear", "linear"], ["log", "logarithmic"]], log ? "log" : "linear"));
  axes.replaceChildren(...tools);
  const added = [...found.keys()].filter((name) => !drawnCharts.has(name));
  for (const name of added) drawnCharts.set(name, new Chart(TITLES[name] || `${name} on the validation data`));
  if (added.length) charts.replaceChildren(...[...found.keys()].map((name) => drawnCharts.get(name).element));
  for (const [name, chart] of drawnCharts) chart.element.hidden = !found.has(name);
  for (const [name, lines] of found) { /* once all have their places, which decide their widths */
    drawnCharts.get(name).update(lines, { log: log && name === "loss", byTime: chosen.axis === "time" });
  }
}

function stepsShown() {
  return [...snapshots.keys()].sort((one, other) => one - other);
}

/* The snapshot that was picked, or the newest. */
function indexShown(steps) {
  if (chosen.step === null) return steps.length - 1;
  return Math.max(0, steps.filter((step) => step <= chosen.step).length - 1);
}

let drawnSnapshot = "";

function showSnapshot(redraw) {
  const steps = stepsShown();
  empty.hidden = steps.length > 0;
  time.hidden = snapshot.hidden = steps.length === 0;
  if (!steps.length) return;
  const index = indexShown(steps);
  slider.max = steps.length - 1;
  slider.value = index;
  label.textContent = `step ${steps[index].toLocaleString("en")}`;
  slider.setAttribute("aria-valuetext", label.textContent);
  newest.setAttribute("aria-pressed", String(chosen.step === null));
  const name = `${steps[index]} ${chosen.sentence} ${page.clientWidth}`;
  if (name === drawnSnapshot && !redraw) return;
  drawnSnapshot = name;
  const { sentences: list } = snapshots.get(steps[index]);
  chosen.sentence = Math.min(chosen.sentence, Math.max(0, list.length - 1));
  showSentences(list);
  if (list.length) showAttention(list[chosen.sentence]);
}

function showSentences(list) {
  const focused = [...sentences.children].indexOf(document.activeElement);
  sentences.replaceChildren(...list.map((each, number) => {
    const button = make("button", { type: "button", class: "sentence", "aria-pressed": String(number === chosen.sentence) });
    for (const [text, value, kind] of [["source", each.source], ["reference", each.reference], ["model", each.output, "output"]]) {
      if (value) button.append(make("span", kind ? { class: kind } : {}, named("small", text), named("bdi", value)));
    }
    button.addEventListener("click", () => {
      chosen.sentence = number;
      showSnapshot(true);
    });
    return button;
  }));
  if (focused >= 0 && sentences.children[focused]) sentences.children[focused].focus({ preventScroll: true });
}

function weightsOf(attention) {
  const letters = atob(attention.weights);
  return Float32Array.from({ length: letters.length }, (_, each) => letters.charCodeAt(each) / 255);
}

function headingOf(attention, layer) {
  if (attention.names) return `${attention.names[layer]}: ${attention.axes || "steps down, slots of the memory across"}`;
  return attention.layers > 1 ? `layer ${layer + 1}, mean of its heads` : "mean of the heads";
}

/* Over a picture, if that is what is read, and otherwise as maps. */
function showAttention({ attention, picture }) {
  if (!attention || !picture) return showMaps(attention);
  const grid = new Grid(weightsOf(attention), attention.rows, attention.columns);
  const view = pictureView([{ grid, colour: colour("--accent") }], picture, maps.clientWidth || page.clientWidth);
  return maps.replaceChildren(view.element);
}

/* One map per layer, with the words of the translation down and those of the source across; of a
   machine, one of its read heads and one of its write heads, with its steps down and slots across;
   where a story or a document is read by sentences, one of the gates or of what the label attends to. */
function showMaps(attention) {
  if (!attention) {
    maps.replaceChildren(named("p", "No attention was kept for this sentence.", { class: "note" }));
    return;
  }
  const [rows, columns] = [attention.rows.length, attention.columns.length];
  const values = weightsOf(attention);
  const room = maps.clientWidth || page.clientWidth;
  const beside = Math.max(1, Math.min(attention.layers, Math.floor(room / (18 * columns + 150))));
  const width = Math.floor(room / beside) - (beside > 1 ? 40 : 0);
  maps.replaceChildren(...Array.from({ length: attention.layers }, (_, layer) => {
    const part = values.subarray(layer * rows * columns, (layer + 1) * rows * columns);
    const grid = new Grid(part, attention.rows, attention.columns);
    const heading = headingOf(attention, layer);
    const smallest = attention.names ? SLOT : NARROWEST;
    const map = heatMap([{ grid, colour: colour("--accent") }], { width, smallest, largest: 34, label: `Attention, ${heading}` });
    return make("div", {}, named("h3", heading), map.element);
  }));
}

function receive(data) {
  known = data;
  for (const each of data.snapshots) snapshots.set(each.step, each);
  if (!seen.length || seen[seen.length - 1][1] !== data.step) seen.push([performance.now() / 1000, data.step]);
  show(false);
}

function show(redraw) {
  document.title = known.title;
  title.replaceChildren(named("bdi", known.title), " ", named("small", known.kind));
  banner.textContent = lost ? "The server has stopped; this is its last state." : "";
  showFigures();
  showCharts();
  showSnapshot(redraw);
  document.body.dataset.ready = "true";
}

async function refresh() {
  const since = Math.max(-1, ...snapshots.keys());
  const asked = new URLSearchParams({ known: known.version, ...(since >= 0 ? { since } : {}) });
  try {
    const answer = await fetch(`/data?${asked}`);
    const again = lost;
    lost = false;
    if (answer.status === 200) receive(await answer.json());
    else if (again) show(false);
  } catch (error) {
    lost = true;
    show(false);
  }
}

async function follow() {
  if (!document.hidden) await refresh();
  setTimeout(follow, UPDATE);
}

slider.addEventListener("input", () => {
  const steps = stepsShown();
  chosen.step = Number(slider.value) === steps.length - 1 ? null : steps[Number(slider.value)];
  showSnapshot(false);
});
newest.addEventListener("click", () => {
  chosen.step = null;
  showSnapshot(false);
});
let resized = null;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => show(true), 120);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(true));
page.replaceChildren(make("header", {}, title, banner), figures, axes, charts, empty, time, snapshot);
receive(known);
if (known.live) setTimeout(follow, UPDATE);
