"use strict";

/* A run during training: curves, and its translations of a few sentences at each validation. */

let known = JSON.parse(document.getElementById("data").textContent);
let chosen = null;
const page = document.getElementById("page");
const [WIDTH, HEIGHT, LEFT, BELOW] = [460, 220, 46, 26];

function chart(title, lines) {
  const svg = make("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  const points = lines.flatMap((line) => line.points);
  const values = points.map((point) => point[1]).sort((one, other) => one - other);
  const low = values[0];
  /* clip the first losses, which would flatten the rest of the curve */
  const most = values.length > 50 ? Math.floor(0.98 * values.length) : values.length - 1;
  const high = Math.max(values[most], low + 1e-9);
  const last = Math.max(1, ...points.map((point) => point[0]));
  const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - 10);
  const y = (value) => 30 + (1 - Math.min(1, (value - low) / (high - low))) * (HEIGHT - 30 - BELOW);
  svg.append(named("text", title, { x: LEFT, y: 16 }));
  for (const fraction of [0, 0.5, 1]) {
    const value = low + fraction * (high - low);
    svg.append(make("path", { class: "axis", d: `M${LEFT},${y(value)}H${WIDTH - 10}` }));
    svg.append(named("text", value.toPrecision(3), { x: 2, y: y(value) + 4 }));
  }
  svg.append(named("text", `step ${last}`, { x: WIDTH - 80, y: HEIGHT - 8 }));
  for (const line of lines) {
    const path = line.points.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`);
    if (path.length) svg.append(make("path", { class: line.name, d: `M${path.join("L")}` }));
  }
  return svg;
}

function charts() {
  const found = [];
  const { loss, ...scores } = known.validation;
  const lines = [
    { name: "training", points: known.training },
    { name: "validation", points: loss || [] },
  ];
  if (lines.some((line) => line.points.length)) {
    found.push(chart("loss per token: training (blue), validation (orange)", lines));
  }
  for (const [name, points] of Object.entries(scores)) {
    if (points.length) found.push(chart(`${name} on the validation data`, [{ name: "validation", points }]));
  }
  return make("div", { class: "charts" }, ...found);
}

function weightsOf(attention) {
  const letters = atob(attention.weights);
  return Float32Array.from({ length: letters.length }, (_, each) => letters.charCodeAt(each) / 255);
}

function pictures(attention) {
  const strip = make("div", { class: "strip" });
  if (!attention) return strip;
  const [rows, columns] = [attention.rows.length, attention.columns.length];
  const values = weightsOf(attention);
  for (let layer = 0; layer < attention.layers; layer += 1) {
    const canvas = make("canvas", {});
    const part = values.subarray(layer * rows * columns, (layer + 1) * rows * columns);
    paintWeights(canvas, part, rows, columns);
    strip.append(make("div", {}, canvas, named("small", attention.names ? attention.names[layer] : `layer ${layer + 1}`)));
  }
  return strip;
}

function sentence(each) {
  const text = make("div", {});
  const add = (label, value, kind) => {
    if (value) text.append(make("p", kind ? { class: kind } : {}, named("small", label), named("bdi", value)));
  };
  add("source", each.source);
  add("reference", each.reference);
  add("at this step", each.output, "output");
  return make("div", { class: "sentence" }, text, pictures(each.attention));
}

function overTime() {
  if (!known.snapshots.length) {
    return [named("p", "No validation yet; translations appear with the first one.", { class: "note" })];
  }
  const last = known.snapshots.length - 1;
  const now = chosen === null ? last : Math.min(chosen, last);
  const slider = make("input", { type: "range", min: 0, max: last, value: now, "aria-label": "step" });
  const label = named("span", `step ${known.snapshots[now].step}`);
  const box = make("div", {}, ...known.snapshots[now].sentences.map(sentence));
  slider.addEventListener("input", () => {
    chosen = Number(slider.value) === last ? null : Number(slider.value);
    const shown = known.snapshots[Number(slider.value)];
    label.textContent = `step ${shown.step}`;
    box.replaceChildren(...shown.sentences.map(sentence));
  });
  const time = make("div", { class: "time" }, named("span", "validation"), slider, label);
  const remark = "Attention from the words of the translation (down) to those of the source (across), averaged over the heads of each layer.";
  return [time, box, named("p", remark, { class: "note" })];
}

function render() {
  document.title = known.title;
  const done = known.steps ? ` of ${known.steps}` : "";
  const lost = known.lost ? " (the server has stopped; this is its last state)" : "";
  const state = `${known.kind}, step ${known.step}${done}${lost}`;
  const head = make("header", {}, named("div", known.title, { class: "kind" }), named("p", state, { class: "facts" }));
  page.replaceChildren(head, charts(), ...overTime());
  document.body.dataset.ready = "true";
}

async function refresh() {
  try {
    const answer = await fetch(`/data?known=${encodeURIComponent(known.version)}`);
    if (answer.status === 200 || known.lost) {
      known = answer.status === 200 ? await answer.json() : { ...known, lost: false };
      render();
    }
  } catch (error) {
    known.lost = true;
    render();
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
render();
if (known.live) setInterval(() => document.hidden || refresh(), 4000);
