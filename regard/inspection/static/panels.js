"use strict";

/* One panel per kind of information about a look. */

const HEADING = 24;
const POINT_AT_WORDS = "Point at a word to see what it attends to; click to pin it.";

function note(text) {
  return named("p", text, { class: "note" });
}

/* The widths of a view and of a map: beside each other where there is room, otherwise below each other. */
function divide(width, columns) {
  const left = Math.max(400, Math.round(0.42 * width));
  const beside = width - left - 32;
  const fits = beside >= 140 + 18 * columns;
  return { fits, left: fits ? left : width, right: fits ? beside : width, name: fits ? "both fits" : "both" };
}

function linesAndMap(series, linked, links, titles, width, pointer, label) {
  const { fits, right, name } = divide(width, series[0].grid.columns);
  const lines = linesView(linked, titles, pointer);
  const map = heatMap(series, { width: right, links, pointer, label, largest: 72 });
  pointer.views.push(lines, map);
  if (fits) setPixels(lines.element, { paddingTop: Math.max(0, map.top - HEADING) }); /* rows at the same height */
  return make("div", { class: name }, lines.element, map.element);
}

function pointsAndMap(series, points, width, pointer, label) {
  const { fits, left, right, name } = divide(width, series[0].grid.columns);
  const drawing = pointsView(series, points, left, pointer);
  const map = heatMap(series, { width: right, pointer, label, largest: 56 });
  if (fits) setPixels(drawing.element, { width: left });
  pointer.views.push(drawing, map);
  return make("div", { class: name }, drawing.element, map.element);
}

/* Kinds between words; what others attend to, such as the slots of a memory, has numbers, so that there
   is a map alone. */
const BETWEEN_SIDES = ["cross", "copy"];
const BETWEEN_WORDS = [...BETWEEN_SIDES, "encoder", "decoder", "target-target"];

function mapPart(series, along, width, pointer, label) {
  const map = heatMap(series, { width, pointer, label, smallest: SLOT, largest: 34 });
  pointer.views.push(map);
  return make("div", {}, map.element, note(axesOf(along)));
}

/* Of sentences that attend to their own words. */
function documentPart(series, look, weights, pointer) {
  const over = Object.values(look.attention).find((each) => each.axes[1] === "sentences");
  const view = documentView(series, over ? weights[over.kind].matrix(null, null) : null, pointer);
  pointer.views.push(view);
  return view.element;
}

/* Of a model that reads a picture: where in it each token was seen. */
function picturePanel(state, look, weights, tools) {
  const { view: chosen } = state.chosen;
  tools.append(state.choice("view", "view", [["lines", "picture"], ["map", "map"]], chosen === "map" ? "map" : "lines"));
  const heads = state.heads("cross");
  const [looking, lookedAt] = look.attention.cross.sides;
  const series = seriesOf(weights, heads, (values) => new Grid(values, looking.pieces, lookedAt.pieces));
  const readout = readoutLine("Point at a token to see the row and column of the patches it attends to; click to pin it.");
  const pointer = state.point(describeWeights(readout, series));
  const label = "Tokens down, patches of the picture across. Arrow keys move through the cells.";
  const view = chosen === "map" ? heatMap(series, { width: state.width(), pointer, label, smallest: SLOT, largest: 34 }) : pictureView(series, look.picture, state.width(), pointer);
  pointer.views.push(view);
  const single = isSingle(weights);
  return [tools, single ? "" : headPicker(weights, heads, state.render), readout, view.element, legend(series, single)];
}

/* By kind of attention, the views that show it; the first is that on which the page opens. */
function viewsOf({ kind, axes }, points) {
  if (points.length && kind === "cross") return [["points", "points and map"], ["lines", "lines and map"], ["text", "text"]];
  if (BETWEEN_WORDS.includes(kind)) return [["lines", "lines and map"], ["text", "text"]];
  return axes[0] === "sentences" && axes[1] === "source" ? [["lines", "sentences"], ["map", "map"]] : [["lines", "map"]];
}

function hintOf(kind, view) {
  if (view === "points and map") return "Point at a written index to see the weight of each point at that step; click to pin it.";
  return BETWEEN_WORDS.includes(kind) ? POINT_AT_WORDS : POINT;
}

function attentionPanel(state, look, found) {
  const kinds = Object.keys(look.attention);
  if (!kinds.length) return [note("This model has no attention; see Tokens.")];
  const { kind, unit } = state.chosen;
  const [packed, weights, heads] = [look.attention[kind], found[kind], state.heads(kind)];
  const tools = make("div", { class: "tools" });
  tools.append(state.choice("attention", "kind", kinds.map((each) => [each, look.attention[each].titles[0]])));
  if (look.picture && kind === "cross") return picturePanel(state, look, weights, tools);
  const single = isSingle(weights);
  const views = [...viewsOf(packed, look.points), ...(single ? [] : [["heads", "all heads"]])];
  const [, view] = views.find(([name]) => name === state.chosen.view) || views[0];
  const divided = packed.sides.some((side) => side.words.length < side.pieces.length);
  if (views.length > 1) tools.append(state.choice("view", "view", views, views.find((each) => each[1] === view)[0]));
  if (divided || (payload.editable && BETWEEN_WORDS.includes(kind))) tools.append(state.choice("unit", "unit", [["words", "words"], ["pieces", "pieces"]]));
  const moves = kind === "cross" && view !== "points and map"; /* points are shown as they are written */
  if (moves) tools.append(...momentChoice(state, look));
  const sides = moves && state.moment(look) === "reading" ? [look.sides.read, packed.sides[1]] : packed.sides;
  const gridOf = (values) => gridBetween(values, sides, unit);
  if (view === "all heads") return [tools, ...allHeads(state, weights, heads, gridOf)];
  const series = seriesOf(weights, heads, gridOf);
  const readout = readoutLine(hintOf(kind, view));
  const pointer = state.point(describeWeights(readout, series, VERBS[kind]));
  const label = `${packed.titles[0]}, ${series.map((each) => each.name).join(", ")}. Arrow keys move through the cells.`;
  const titles = packed.titles.slice(1);
  const draw = {
    map: () => mapPart(series, packed.along, state.width(), pointer, label),
    sentences: () => documentPart(series, look, found, pointer),
    text: () => textPart(series, !BETWEEN_SIDES.includes(kind), titles, pointer),
    "points and map": () => pointsAndMap(series, look.points, state.width(), pointer, label),
    "lines and map": () => linesAndMap(series, series, [], titles, state.width(), pointer, label),
  };
  const picker = single ? "" : headPicker(weights, heads, state.render);
  return [tools, picker, readout, draw[view](), legend(series, single), divided ? note(payload.rule) : ""];
}

function allHeads(state, weights, heads, gridOf) {
  const readout = readoutLine("All heads at once, with their entropy; click to pick those that the other views show.");
  const colourOf = (layer, head) => (heads.slot(layer, head) < 0 ? null : colour(`--head-${heads.slot(layer, head) + 1}`));
  const pick = (layer, head) => {
    heads.toggle(layer, head);
    state.render();
  };
  const small = (layer, head) => gridOf(weights.matrix(layer, head));
  return [readout, headsView(weights, state.width(), small, colourOf, pick)];
}

function textPart(series, same, titles, pointer) {
  const view = textView(series, same, titles, pointer);
  pointer.views.push(view);
  return view.element;
}

function gridBetween(values, [looking, lookedAt], unit) {
  if (unit === "pieces") return new Grid(values, looking.pieces, lookedAt.pieces);
  return new Grid(mergeWords(values, looking, lookedAt), looking.words, lookedAt.words);
}

/* A model that writes all words at once reads none of them. */
function momentChoice(state, look) {
  const moments = [["writing", "written"], ["reading", "read"]];
  return look.sides.read ? [state.choice("attention while a word is", "moment", moments, state.moment(look))] : [];
}

function alignmentPanel(state, look, weights) {
  if (!weights) return [note("This model has no attention to the source, so there is no alignment.")];
  if (look.picture) return [note("A picture has no words to be aligned; see Attention.")];
  const heads = state.heads("cross");
  const shown = heads.shown();
  const matrices = shown.map(([layer, head]) => weights.matrix(layer, head));
  const mean = matrices.length ? meanOf(matrices) : weights.matrix(null, null);
  const moved = state.moment(look) === "reading" ? moveToReading(mean, weights.rows, weights.columns) : mean;
  const { source, target } = look.sides;
  const grid = gridBetween(moved, [target, source], "words");
  const links = alignWords(grid, state.chosen.method);
  const one = [{ name: "mean", grid, colour: colour("--accent") }];
  const linked = new Grid(new Float32Array(grid.values.length), grid.rowNames, grid.columnNames);
  for (const [column, row] of links) linked.values[row * grid.columns + column] = 1;
  const lines = [{ name: "links", grid: linked, colour: colour("--warm") }];
  const readout = readoutLine("A line or a dot is a link between two words.");
  const pointer = state.point(describeWeights(readout, one));
  const main = linesAndMap(one, lines, links, ["target", "source"], state.width(), pointer, "Alignment. Arrow keys move through the cells.");
  const methods = ["argmax", "intersection", "grow-diag"].map((name) => [name, name]);
  const tools = make("div", { class: "tools" }, state.choice("method", "method", methods), ...momentChoice(state, look));
  return [tools, headPicker(weights, heads, state.render), readout, main, ...pharaohText(links, shown, state.moment(look)), note(payload.rule)];
}

function pharaohText(links, shown, moment) {
  const text = make("textarea", { readonly: "", "aria-label": "Pharaoh format", class: "pharaoh" });
  text.value = links.map((link) => link.join("-")).join(" ");
  const names = shown.map(([layer, head]) => `${layer + 1}.${head + 1}`).join(",") || "mean";
  const heading = named("h2", "The same in Pharaoh format (source-target, counted from 0)");
  return [heading, text, note(`For a whole corpus: regard align --attention-heads ${names}${moment === "reading" ? "@reading" : ""}`)];
}

function searchPanel(look) {
  if (look.given) return [note("This target was given, so there was no search.")];
  if (!look.searchTree.length) return [note("This model writes its target without a search.")];
  const readout = readoutLine("Point at a token to see its hypothesis, its score and its outcome; arrow keys move along the tree.");
  const key = (name, text) => make("span", { class: name }, make("i", {}), text);
  const keys = make("div", { class: "keys" }, key("best", "what was written"), key("finished", "finished"), key("open", "continued, or still open"), key("dropped", "dropped after this token"));
  return [readout, keys, treeView(look.searchTree, readout)];
}

/* Where each token is the tag of a source word, that word comes first. */
function tokensPanel(look) {
  const tags = look.written.some(([, , , word]) => word);
  const titles = [...(tags ? ["word"] : []), "token", "probability", "", "most probable tokens"];
  const table = make("table", { class: "tokens" }, make("tr", {}, ...titles.map((text) => named("th", text))));
  for (const [piece, log, best, word] of look.written) {
    const bar = make("b", {});
    bar.style.width = `${(100 * Math.exp(log)).toFixed(1)}%`;
    const others = make("td", { class: "others" });
    for (const [other, value] of best) {
      others.append(make("span", {}, named("bdi", other, other === piece ? { class: "here" } : {}), named("small", formatProbability(Math.exp(value)))));
    }
    const gauge = make("td", {}, make("span", { class: "gauge" }, bar));
    const number = named("td", formatProbability(Math.exp(log)), { class: "number" });
    const of = tags ? make("td", {}, named("bdi", word)) : "";
    table.append(make("tr", {}, of, make("td", {}, named("bdi", piece)), gauge, number, others));
  }
  const given = look.sides.read ? "the source and the tokens before it" : "the source";
  return [table, note(`Each probability is conditional on ${given}.`)];
}

function neighbourTable(list) {
  const table = make("table", {});
  for (const [piece, near] of list) {
    const others = make("td", { class: "others" });
    for (const [other, cosine] of near) {
      others.append(make("span", {}, named("bdi", other), named("small", cosine.toFixed(2))));
    }
    table.append(make("tr", {}, make("td", {}, named("bdi", piece)), others));
  }
  return table;
}

function vectorsPanel(look) {
  const parts = [];
  const tables = Object.entries(look.neighbours).filter(([, list]) => list.length);
  const columns = tables.map(([side, list]) => {
    return make("div", {}, named("h2", `Nearest neighbours of the ${side} tokens, by cosine similarity`), neighbourTable(list));
  });
  if (look.positions) parts.push(...positionImage(look.positions));
  parts.push(make("div", { class: "beside" }, ...columns));
  return parts;
}

function positionImage(positions) {
  const canvas = make("canvas", { class: "positions", role: "img", "aria-label": "positions" });
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
