"use strict";

/* A run during training: figures, curves, and what it wrote for a few sentences at each validation.
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
const empty = named("p", "No validation yet; predictions appear with the first one.", { class: "note" });
const slider = make("input", { type: "range", min: 0, "aria-label": "step of the predictions" });
const label = make("output", {});
const newest = named("button", "newest", { type: "button", title: "Follow the newest validation" });
const time = make("div", { class: "time" }, named("h2", "Predictions"), slider, label, newest);
const sentences = make("div", { class: "sentences", role: "group", "aria-label": "sentence" });
const maps = make("div", { class: "maps" });
const BETWEEN_TEXT = ["cross", "copy", "encoder", "decoder", "target-target"];
const readout = make("p", { class: "readout", "aria-live": "polite" });
const snapshot = make("div", { class: "snapshot" }, sentences, make("div", { class: "shown" }, readout, maps));
let pointers = [];
const drawnCharts = new Map();

/* The points [x, value] of a column; x is the step or the time. */
function pointsOf(table, name) {
  const values = table[name] || [];
  const at = chosen.axis === "time" ? table.step.map(timeAt) : table.step;
  return values.map((value, index) => [at[index], value]).filter(([where, value]) => where !== null && value !== null);
}

/* The name of a metric without the underscores of its setting. */
function plain(name) {
  return name.replaceAll("_", " ");
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
  if (best && metric !== "loss") add(`best ${plain(metric)}`, formatNumber(best[0]), `at step ${best[1].toLocaleString("en")}`);
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
    if (!["step", "loss", "time"].includes(name)) found.set(name, [line(plain(name), 2, pointsOf(validation, name))]);
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
  for (const name of added) drawnCharts.set(name, new Chart(TITLES[name] || `${plain(name)} on the validation data`));
  if (added.length) charts.replaceChildren(...[...found.keys()].map((name) => drawnCharts.get(name).element));
  for (const [name, chart] of drawnCharts) chart.element.hidden = !found.has(name);
  const ends = [...found.values()].flat().flatMap((line) => line.points.map(([at]) => at));
  const last = Math.max(...ends, chosen.axis === "time" ? 1 : 2);
  for (const [name, lines] of found) { /* once all have their places, which decide their widths */
    drawnCharts.get(name).update(lines, { log: log && name === "loss", byTime: chosen.axis === "time", last });
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

async function showSnapshot(redraw) {
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
  if (list.length) await showAttention(list[chosen.sentence]);
}

function showSentences(list) {
  const focused = [...sentences.children].indexOf(document.activeElement);
  sentences.replaceChildren(...list.map((each, number) => {
    const button = make("button", { type: "button", class: "sentence", "aria-pressed": String(number === chosen.sentence) });
    for (const [text, value, kind] of [["source", each.source], ["reference", each.reference], ["model", each.output, "output"]]) {
      if (value || kind) button.append(make("span", kind ? { class: kind } : {}, named("small", text), named("bdi", value || "(nothing)")));
    }
    button.addEventListener("click", () => {
      chosen.sentence = number;
      showSnapshot(true);
    });
    return button;
  }));
  if (focused >= 0 && sentences.children[focused]) sentences.children[focused].focus({ preventScroll: true });
}

/* The weights of a kind of attention, layer by layer. */
async function gridsOf(kind) {
  const values = Float32Array.from(await unpack(kind.weights), (step) => (step / 255) ** 2);
  const size = kind.rows.length * kind.columns.length;
  return Array.from({ length: kind.layers }, (_, layer) => {
    return new Grid(values.subarray(layer * size, (layer + 1) * size), kind.rows, kind.columns);
  });
}

let drawnAttention = 0;

/* Every kind of attention that was kept. A newer call replaces one that still waits. */
async function showAttention({ attention, picture, points }) {
  const mine = (drawnAttention += 1);
  const grids = await Promise.all(attention.map(gridsOf));
  if (mine !== drawnAttention) return;
  pointers = [];
  readout.textContent = POINT;
  readout.hidden = !attention.length;
  const over = attention.findIndex((kind) => kind.axes[1] === "sentences");
  const parts = attention.flatMap((kind, index) => {
    if (picture && kind.kind === "cross") return [pictures(kind, grids[index][0], picture)];
    if (points && kind.kind === "cross") return grids[index].flatMap((grid, layer) => pointsAndMap(kind, grid, layer, points));
    if (kind.kind === "sentences-source") return [sentenceTexts(kind, grids[index][0], over < 0 ? null : grids[over][0].values)];
    return grids[index].map((grid, layer) => mapOf(kind, grid, layer));
  });
  maps.replaceChildren(...(parts.length ? parts : [named("p", "No attention was kept for this sentence; 'regard look' shows what there is.", { class: "note" })]));
  if (parts.length) maps.append(make("div", { class: "legend" }, scaleOf(colour("--accent"))));
}

function seriesFrom(grid) {
  return [{ name: "", grid, colour: colour("--accent") }];
}

function pointerOf(kind, grid) {
  const pointer = new Pointer(describeWeights(readout, seriesFrom(grid), VERBS[kind.kind]));
  pointers.push(pointer);
  return pointer;
}

function pictures(kind, grid, picture) {
  const pointer = pointerOf(kind, grid);
  const view = pictureView(seriesFrom(grid), picture, roomOf(), pointer);
  pointer.views.push(view);
  return view.element;
}

function pointsAndMap(kind, grid, layer, points) {
  const pointer = pointerOf(kind, grid);
  const view = pointsView(seriesFrom(grid), points, roomOf(), pointer);
  pointer.views.push(view);
  return [view.element, mapOf(kind, grid, layer, pointer)];
}

function sentenceTexts(kind, grid, over) {
  const pointer = pointerOf(kind, grid);
  const view = documentView(seriesFrom(grid), over, pointer);
  pointer.views.push(view);
  return make("div", {}, named("h3", kind.titles[0]), view.element);
}

function roomOf() {
  return maps.clientWidth || page.clientWidth;
}

/* The mean of the heads of a layer. */
function mapOf(kind, grid, layer, pointer = pointerOf(kind, grid)) {
  const smallest = BETWEEN_TEXT.includes(kind.kind) ? NARROWEST : SLOT;
  const names = Math.min(0.28 * roomOf(), widest(grid.rowNames, 13));
  const beside = Math.max(1, Math.min(kind.layers, Math.floor(roomOf() / (18 * grid.columns + names + 60))));
  const width = Math.floor(roomOf() / beside) - (beside > 1 ? 40 : 0);
  const heading = kind.layers > 1 ? `${kind.titles[0]}, layer ${layer + 1}` : kind.titles[0];
  const map = heatMap(seriesFrom(grid), { width, smallest, largest: 34, label: `${heading}. Arrow keys move through the cells.`, pointer });
  pointer.views.push(map);
  return make("div", {}, named("h3", heading), map.element, named("p", axesOf(kind.along), { class: "note" }));
}

function receive(data) {
  known = data;
  for (const each of data.snapshots) snapshots.set(each.step, each);
  if (!seen.length || seen[seen.length - 1][1] !== data.step) seen.push([performance.now() / 1000, data.step]);
  show(false);
}

async function show(redraw) {
  document.title = known.title;
  title.replaceChildren(named("bdi", known.title), " ", named("small", known.kind));
  banner.textContent = lost ? "The server has stopped; this is its last state." : "";
  showFigures();
  showCharts();
  await showSnapshot(redraw);
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
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const pointer of pointers) {
    pointer.release();
    pointer.show(null, null);
  }
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
