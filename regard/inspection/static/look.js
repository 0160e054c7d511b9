"use strict";

/* The page: the current selection, and one panel per kind of information. */

const payload = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const chosen = { look: 0, panel: "attention", kind: "cross", view: "lines", unit: "words" };
Object.assign(chosen, { layer: null, head: null, method: "grow-diag", moment: "writing", whose: "own" });
const unpacked = new Map();

function change(values) {
  Object.assign(chosen, values);
  render();
}

/* A row of buttons, one of them pressed; options are [value, text, fraction of a small bar, tooltip]. */
function choice(title, name, options) {
  const buttons = options.map(([value, text, fraction, tooltip]) => {
    const button = named("button", text, { type: "button", "data-choice": name });
    button.setAttribute("aria-pressed", String(chosen[name] === value));
    if (fraction !== undefined) {
      const bar = make("b", {});
      bar.style.width = `${(100 * fraction).toFixed(0)}%`;
      button.append(make("i", {}, bar));
    }
    if (tooltip) button.title = tooltip;
    button.addEventListener("click", () => change({ [name]: value }));
    return button;
  });
  const label = named("span", title);
  return make("div", { class: "choice", role: "group", "aria-label": title }, label, make("div", {}, ...buttons));
}

function layerChoices(weights) {
  const most = Math.log2(Math.max(2, weights.columns));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const bits = (value) => [value / most, `entropy ${value.toFixed(2)} of at most ${most.toFixed(2)} bits`];
  const every = weights.entropy.map(mean);
  const layers = every.map((value, layer) => [layer, String(layer + 1), ...bits(value)]);
  const number = Math.max(...weights.heads);
  const heads = Array.from({ length: number }, (_, head) => {
    const among = chosen.layer === null ? weights.entropy : [weights.entropy[chosen.layer]];
    const value = mean(among.map((row) => row[Math.min(head, row.length - 1)]));
    return [head, String(head + 1), ...bits(value)];
  });
  return [
    choice("layer (bar: entropy)", "layer", [[null, "mean"], ...layers]),
    choice("head (bar: entropy)", "head", [[null, "mean"], ...heads]),
  ];
}

function gridOf(look, weights, kind, unit, layer, head) {
  const [looking, lookedAt] = look.attention[kind].sides;
  const values = weights.matrix(layer, head);
  if (unit === "pieces") return new Grid(values, looking.pieces, lookedAt.pieces);
  return new Grid(mergeWords(values, looking, lookedAt), looking.words, lookedAt.words);
}

function describeWeights(readout, grid) {
  return (row, column) => {
    const cell = row !== null && column !== null;
    const asked = row === null ? grid.columnNames[column] : grid.rowNames[row];
    const names = row === null ? grid.rowNames : grid.columnNames;
    const verb = row === null ? " is attended to by " : " attends to ";
    const most = cell ? [[column, grid.at(row, column)]] : grid.most(row, column, 5);
    const found = most.filter((each, number) => number === 0 || Math.abs(each[1]) >= 0.0005);
    const parts = [named("bdi", asked), verb];
    found.forEach(([index, weight], number) => {
      parts.push(number ? ", " : "", named("bdi", names[index]), ` ${weight.toFixed(3)}`);
    });
    readout.replaceChildren(...parts);
  };
}

function attentionPanel(look, weights) {
  const kinds = Object.keys(look.attention);
  if (!kinds.length) return [note("This model has no attention; see Search and Tokens.")];
  const tools = make("div", { class: "tools" });
  tools.append(choice("attention", "kind", kinds.map((kind) => [kind, look.attention[kind].titles[0]])));
  const views = [["lines", "lines"], ["text", "text"], ["map", "map"], ["heads", "all heads"]];
  tools.append(choice("view", "view", views));
  tools.append(choice("unit", "unit", [["words", "words"], ["pieces", "pieces"]]));
  const heads = make("div", { class: "tools" });
  if (chosen.view !== "heads") heads.append(...layerChoices(weights));
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  readout.textContent = "Point at a word to see what it attends to; click to pin it.";
  const grid = (layer, head) => gridOf(look, weights, chosen.kind, chosen.unit, layer, head);
  return [tools, heads, readout, attentionView(grid, weights, readout, look.attention[chosen.kind].titles), legend(), note(payload.rule)];
}

function attentionView(grid, weights, readout, [, ...titles]) {
  if (chosen.view === "heads") {
    readout.textContent = "All heads at once, with their entropy; click one to enlarge it.";
    return headsView(weights, grid, (layer, head) => change({ layer, head, view: "map" }));
  }
  const now = grid(chosen.layer, chosen.head);
  const show = describeWeights(readout, now);
  if (chosen.view === "map") return heatMap(now, show);
  if (chosen.view === "lines") return linesView(now, titles, show);
  return textView(now, ["encoder", "decoder"].includes(chosen.kind), titles, show);
}

/* The mean over the heads that 'regard align' uses, such as 2.1,2.3@reading. */
function ownWeights(weights, names) {
  if (names.startsWith("mean")) return weights.matrix(null, null);
  const parts = names.split("@")[0].split(",").map((name) => name.split(".").map(Number));
  const matrices = parts.map(([layer, head]) => weights.matrix(layer - 1, head - 1));
  return matrices[0].map((_, index) => matrices.reduce((sum, each) => sum + each[index], 0) / matrices.length);
}

function alignmentPanel(look, weights) {
  if (!weights) return [note("This model has no attention to the source, so there is no alignment.")];
  const [target, source] = [look.sides.target, look.sides.source];
  const own = chosen.whose === "own";
  let values = own ? ownWeights(weights, look.heads) : weights.matrix(chosen.layer, chosen.head);
  const reading = own ? look.heads.endsWith("@reading") : chosen.moment === "reading";
  if (reading) values = moveToReading(values, weights.rows, weights.columns);
  const grid = new Grid(mergeWords(values, target, source), target.words, source.words);
  const links = alignWords(grid, chosen.method);
  const readout = make("p", { class: "readout" });
  readout.textContent = "A dot is a link between two words.";
  const text = make("textarea", { readonly: "", "aria-label": "Pharaoh format" });
  text.value = links.map((link) => link.join("-")).join(" ");
  const map = heatMap(grid, describeWeights(readout, grid), links);
  const heading = named("h2", "The same in Pharaoh format (source-target, counted from 0)");
  return [...alignmentTools(look, weights), readout, map, heading, text, note(payload.rule)];
}

function alignmentTools(look, weights) {
  const methods = ["argmax", "intersection", "grow-diag"].map((name) => [name, name]);
  const whose = [["own", `chosen for 'regard align': ${look.heads}`], ["named", "others"]];
  const tools = make("div", { class: "tools" }, choice("method", "method", methods), choice("heads", "whose", whose));
  if (chosen.whose === "own") return [tools];
  const moments = [["writing", "it is written"], ["reading", "it is read"]];
  const moment = choice("attention of a word when", "moment", moments);
  return [tools, make("div", { class: "tools" }, ...layerChoices(weights), moment)];
}

function searchPanel(look) {
  if (!look.searchTree.length) return [note("This target was given, so there was no search.")];
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  readout.textContent = "Point at a token to see its hypothesis, its score and its outcome.";
  const key = (name, text) => make("span", { class: name }, make("i", {}), text);
  const keys = make("div", { class: "keys" }, key("best", "the translation"), key("finished", "finished"), key("open", "continued, or still open"), key("dropped", "dropped after this token"));
  return [readout, keys, treeView(look.searchTree, readout)];
}

function tokensPanel(look) {
  const head = make("tr", {}, ...["token", "probability", "", "most probable tokens"].map((text) => named("th", text)));
  const table = make("table", {}, head);
  for (const [piece, log, best] of look.written) {
    const bar = make("b", {});
    bar.style.width = `${(100 * Math.exp(log)).toFixed(1)}%`;
    const others = make("td", { class: "others" });
    for (const [other, value] of best) {
      others.append(named("bdi", other, other === piece ? { class: "here" } : {}));
      others.append(named("small", formatProbability(Math.exp(value))));
    }
    const gauge = make("td", {}, make("span", { class: "gauge" }, bar));
    const number = named("td", formatProbability(Math.exp(log)), { class: "number" });
    table.append(make("tr", {}, make("td", {}, named("bdi", piece)), gauge, number, others));
  }
  const remark = "Each probability is conditional on the source and the tokens before it.";
  return [table, note(remark)];
}

function neighbourTable(list) {
  const table = make("table", {});
  for (const [piece, near] of list) {
    const others = make("td", { class: "others" });
    for (const [other, cosine] of near) {
      others.append(named("bdi", other), named("small", cosine.toFixed(2)));
    }
    table.append(make("tr", {}, make("td", {}, named("bdi", piece)), others));
  }
  return table;
}

function vectorsPanel(look) {
  const parts = [];
  if (look.positions) parts.push(...positionImage(look.positions));
  for (const [side, list] of Object.entries(look.neighbours)) {
    if (!list.length) continue;
    parts.push(named("h2", `Nearest neighbours of the ${side} tokens, by cosine similarity`));
    parts.push(neighbourTable(list));
  }
  return parts;
}

function positionImage(positions) {
  const canvas = make("canvas", { class: "positions" });
  paintSigned(canvas, positions.values, positions.rows, positions.columns);
  const how = {
    add: "the vector added to the token's at each position",
    rotate: "how queries and keys are rotated at each position",
    bias: "what is added to the scores, by distance",
  };
  const distance = (positions.rows - 1) / 2;
  const down = positions.entrance === "bias" ? `from ${distance} positions before to ${distance} after` : `the first ${positions.rows} positions`;
  const axes = `Down: ${down}. Across: ${positions.columns} columns.`;
  return [
    named("h2", `Positions: ${how[positions.entrance]}`),
    canvas,
    note(`${axes} Blue is above 0, orange below.`),
  ];
}

function note(text) {
  return named("p", text, { class: "note" });
}

function header(look) {
  const top = make("header", {});
  if (payload.looks.length > 1) {
    const select = make("select", { "aria-label": "sentence" });
    payload.looks.forEach((each, number) => {
      const option = named("option", `${number + 1}. ${each.text.slice(0, 60)}`, { value: number });
      option.selected = number === chosen.look;
      select.append(option);
    });
    select.addEventListener("change", () => change({ look: Number(select.value) }));
    top.append(select);
  }
  const target = named("p", look.translation, { class: "to" });
  const kind = named("div", payload.title, { class: "kind" });
  const pair = make("div", { class: "pair" }, named("p", look.text), target);
  const origin = look.given ? "given target" : "found by search";
  const facts = `${origin}, log p ${look.log.toFixed(3)}, ${look.written.length} tokens`;
  top.append(kind, pair, named("p", facts, { class: "facts" }));
  return top;
}

const PANELS = {
  attention: "Attention",
  alignment: "Alignment",
  search: "Search",
  tokens: "Tokens",
  vectors: "Vectors",
};

function panels() {
  const bar = make("nav", {});
  for (const [name, text] of Object.entries(PANELS)) {
    const button = named("button", text, { type: "button", "data-panel": name });
    button.setAttribute("aria-pressed", String(chosen.panel === name));
    button.addEventListener("click", () => change({ panel: name }));
    bar.append(button);
  }
  return bar;
}

async function unpackedLook(number) {
  if (!unpacked.has(number)) {
    const found = {};
    for (const [kind, packed] of Object.entries(payload.looks[number].attention)) {
      found[kind] = new Weights(packed, await unpack(packed.data));
    }
    unpacked.set(number, found);
  }
  return unpacked.get(number);
}

async function render() {
  const look = payload.looks[chosen.look];
  const weights = await unpackedLook(chosen.look);
  if (!look.attention[chosen.kind]) chosen.kind = Object.keys(look.attention)[0] || "cross";
  const now = weights[chosen.panel === "alignment" ? "cross" : chosen.kind];
  if (now && chosen.layer !== null && chosen.layer >= now.heads.length) chosen.layer = null;
  if (now && chosen.head !== null && chosen.head >= Math.max(...now.heads)) chosen.head = null;
  const build = {
    attention: () => attentionPanel(look, now),
    alignment: () => alignmentPanel(look, weights.cross),
    search: () => searchPanel(look),
    tokens: () => tokensPanel(look),
    vectors: () => vectorsPanel(look),
  };
  document.title = `${payload.title}: ${look.text.slice(0, 60)}`;
  document.body.classList.toggle("long", look.sides.target.words.length > 60);
  const main = make("main", {}, ...build[chosen.panel]());
  page.replaceChildren(header(look), panels(), main);
  document.body.dataset.ready = "true";
}

if (payload.looks[0].sides.target.words.length > 60) chosen.view = "text";
if (Object.keys(payload.looks[0].attention)[0] === "reads") chosen.view = "map"; // slots have no words
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
render();
