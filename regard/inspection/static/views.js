"use strict";

/* Views of attention: lines between words, running text, all heads at once. Each view takes some
   series, tells a pointer what is pointed at, and can light it. */

function readoutLine(text) {
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  readout.textContent = text;
  return readout;
}

const POINT = "Point at a word or a cell to see its weight; click to pin it.";

const VERBS = {
  copy: "is copied from",
  reads: "reads slot",
  writes: "writes slot",
  "sentences-memory": "opens slot",
  "target-memory": "attends to slot",
};

/* What a word attends to, or what attends to it, by each series. */
function describeWeights(readout, series, verb = "attends to") {
  return (row, column) => {
    const [{ grid }] = series;
    const cell = row !== null && column !== null;
    const names = row === null ? grid.rowNames : grid.columnNames;
    const parts = [named("bdi", row === null ? grid.columnNames[column] : grid.rowNames[row])];
    parts.push(row === null ? " is attended to by " : ` ${verb} `);
    series.forEach((each, number) => {
      const most = cell ? [[column, each.grid.at(row, column)]] : each.grid.most(row, column, series.length > 1 ? 2 : 5);
      const found = most.filter((entry, rank) => rank === 0 || Math.abs(entry[1]) >= 0.0005);
      if (series.length > 1) parts.push(number ? "; " : "", swatch(each.colour), `${each.name} `);
      found.forEach(([index, weight], rank) => {
        parts.push(rank ? ", " : "", named("bdi", names[index]), ` ${weight.toFixed(3)}`);
      });
    });
    readout.replaceChildren(...parts);
  };
}

/* What is pointed at, in all views at once; a click pins it until the next click or Escape. */
class Pointer {
  constructor(describe) {
    this.describe = describe;
    this.views = [];
    this.pinned = null;
  }

  hover(row, column) {
    if (this.pinned === null) this.show(row, column);
  }

  pin(row, column) {
    const name = `${row} ${column}`;
    this.pinned = this.pinned === name ? null : name;
    this.show(row, column);
  }

  release() {
    this.pinned = null;
  }

  show(row, column) {
    for (const view of this.views) view.light(row, column);
    if (row !== null || column !== null) this.describe(row, column);
  }
}

/* A probability as text; a tiny one keeps its exponent instead of becoming 0. */
function formatProbability(value) {
  if (value > 0 && value < 0.001) return value.toExponential(0);
  return value.toFixed(value < 0.0995 || value > 0.995 ? 3 : 2);
}

function wordsOf(names) {
  return names.map((text) => named("span", text, { class: "word", role: "option", title: text }));
}

/* Words respond to the pointer and, with the arrow keys, to the keyboard. */
function pointable(words, pointer, place) {
  roving(words, inOrder);
  words.forEach((word, number) => {
    word.addEventListener("mouseenter", () => pointer.hover(...place(number)));
    word.addEventListener("mouseleave", () => pointer.hover(null, null));
    word.addEventListener("focus", () => word.matches(":focus-visible") && pointer.hover(...place(number)));
    word.addEventListener("click", () => pointer.pin(...place(number)));
    word.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        pointer.pin(...place(number));
      }
    });
  });
}

/* One stripe of background per series. */
function shade(word, series, weightOf) {
  const stripes = series.map((each, number) => {
    const weight = weightOf(each.grid);
    const tone = translucent(weight < 0 ? colour("--faint") : each.colour, 0.62 * strength(weight));
    const ends = [number, number + 1].map((end) => `${((100 * end) / series.length).toFixed(1)}%`);
    return `${tone} ${ends.join(" ")}`;
  });
  word.style.background = `linear-gradient(to right, ${stripes.join(", ")})`;
}

function lightWords(series, looking, lookedAt, row, column) {
  for (const word of new Set([...looking, ...lookedAt])) {
    word.style.background = "";
    word.classList.remove("asked");
  }
  if (row !== null) {
    looking[row].classList.add("asked");
    if (column === null) lookedAt.forEach((word, index) => shade(word, series, (grid) => grid.at(row, index)));
  }
  if (column !== null) {
    lookedAt[column].classList.add("asked");
    if (row === null) looking.forEach((word, index) => shade(word, series, (grid) => grid.at(index, column)));
  }
}

/* Running text: point at a word to see what it attends to, or on the other side what attends to it. */
function textView(series, same, titles, pointer) {
  const [{ grid }] = series;
  const looking = wordsOf(grid.rowNames);
  const lookedAt = same ? looking : wordsOf(grid.columnNames);
  const paragraph = (words, title) => {
    const many = words.length > 60 ? "reading many" : "reading";
    const text = make("div", { role: "listbox", "aria-label": title || "words" });
    for (const word of words) text.append(word, " ");
    return make("div", { class: many }, named("span", title, { class: "title" }), text);
  };
  pointable(looking, pointer, (row) => [row, null]);
  if (!same) pointable(lookedAt, pointer, (column) => [null, column]);
  const light = (row, column) => lightWords(series, looking, lookedAt, row, column);
  const parts = same ? [paragraph(looking, titles[0])] : [paragraph(looking, titles[0]), paragraph(lookedAt, titles[1])];
  return { element: make("div", { class: same ? "" : "beside" }, ...parts), light };
}

/* The sentence that each word belongs to, which is the only one that attends to it; the end of the
   document belongs to none. */
function sentencesOf(grid) {
  const found = [];
  for (let column = 0; column < grid.columns; column += 1) {
    const row = argmax(grid.rows, (index) => grid.at(index, column));
    const own = grid.at(row, column) > 0;
    found.push(own ? row : column === grid.columns - 1 ? null : (found[column - 1] ?? 0));
  }
  return found;
}

/* A document as its sentences, with the weights of their words; `over`, if there is one, has the weights
   of the sentences themselves. */
function documentView(series, over, pointer) {
  const [{ grid }] = series;
  const words = wordsOf(grid.columnNames);
  const rowOf = sentencesOf(grid);
  const most = over ? Math.max(...over.subarray(0, grid.rows)) : 0;
  const parts = grid.rowNames.map((name, row) => {
    const text = make("div", { class: "reading many" });
    words.forEach((word, column) => rowOf[column] === row && text.append(word, " "));
    const bar = make("b", {});
    bar.style.width = `${most ? (100 * over[row]) / most : 0}%`;
    const weight = over ? make("div", { class: "weight" }, named("small", formatProbability(over[row])), make("span", { class: "gauge" }, bar)) : null;
    return make("div", { class: "part" }, weight, text);
  });
  const own = words.filter((word, column) => rowOf[column] !== null);
  const columns = words.map((word, column) => column).filter((column) => rowOf[column] !== null);
  pointable(own, pointer, (number) => [rowOf[columns[number]], columns[number]]);
  columns.forEach((column) => shade(words[column], series, (each) => each.at(rowOf[column], column)));
  const light = (row, column) => words.forEach((word, index) => word.classList.toggle("asked", index === column));
  const list = make("div", { class: "document", role: "listbox", "aria-label": "sentences" }, ...parts);
  const bars = over ? " Bar: weight of the sentence, relative to the largest." : "";
  return { element: make("div", {}, list, named("p", `Shade: weight of a word in its sentence.${bars}`, { class: "note" })), light };
}

const LINE = 28;

/* Two columns with a line for each weight; larger weights are darker and thicker. */
function linesView(series, titles, pointer) {
  const [{ grid }] = series;
  const [looking, lookedAt] = [wordsOf(grid.rowNames), wordsOf(grid.columnNames)];
  const side = (words, where, title) => {
    const items = words.map((word) => make("div", { class: "item" }, word));
    return make("div", { class: `side ${where}`, role: "listbox", "aria-label": title || "words" }, ...items);
  };
  const canvas = make("canvas", { "aria-hidden": "true" });
  let now = [null, null];
  const draw = () => drawLines(canvas, series, ...now);
  const light = (row, column) => {
    now = [row, column];
    lightWords(series, looking, lookedAt, row, column);
    draw();
  };
  pointable(looking, pointer, (row) => [row, null]);
  pointable(lookedAt, pointer, (column) => [null, column]);
  const headings = [titles[0], "", titles[1]].map((text) => named("div", text, { class: "heading" }));
  const middle = make("div", { class: "middle" }, canvas);
  setPixels(middle, { height: LINE * Math.max(grid.rows, grid.columns) });
  new ResizeObserver(draw).observe(middle);
  const [left, right] = [side(looking, "left", titles[0]), side(lookedAt, "right", titles[1])];
  return { element: make("div", { class: "columns" }, ...headings, left, middle, right), light };
}

function drawLines(canvas, series, row, column) {
  const [{ grid }] = series;
  const scale = Math.min(2, window.devicePixelRatio || 1);
  const [width, height] = [canvas.parentNode.clientWidth, LINE * Math.max(grid.rows, grid.columns)];
  canvas.width = width * scale;
  canvas.height = height * scale;
  setPixels(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  series.forEach((each, number) => {
    const shift = (number - (series.length - 1) / 2) * Math.min(4, 16 / series.length);
    for (let from = 0; from < grid.rows; from += 1) {
      for (let to = 0; to < grid.columns; to += 1) {
        const weight = each.grid.at(from, to);
        const wanted = (row === null || row === from) && (column === null || column === to);
        if (!wanted || weight < 0.02) continue;
        const [start, end] = [(from + 0.5) * LINE + shift, (to + 0.5) * LINE + shift];
        context.strokeStyle = translucent(each.colour, 0.9 * strength(weight) ** 1.5);
        context.lineWidth = 0.6 + 2.6 * Math.min(1, weight);
        context.beginPath();
        context.moveTo(3, start);
        context.bezierCurveTo(width * 0.4, start, width * 0.6, end, width - 3, end);
        context.stroke();
      }
    }
  });
}

/* Small multiples: one row per layer, one column per head; a click picks one. */
function headsView(weights, width, gridOf, colourOf, pick) {
  const most = Math.max(...weights.heads);
  const box = make("div", { class: "heads" });
  const size = Math.max(72, Math.min(300, Math.floor((width - 8) / most) - 8));
  box.style.gridTemplateColumns = `repeat(${most}, ${size}px)`;
  weights.heads.forEach((count, layer) => {
    for (let head = 0; head < most; head += 1) {
      if (head >= count) {
        box.append(make("span", {}));
        continue;
      }
      const grid = gridOf(layer, head);
      const picked = colourOf(layer, head);
      const canvas = make("canvas", { "aria-hidden": "true" });
      paintSeries(canvas, [{ grid, colour: picked || colour("--accent") }]);
      canvas.style.height = `${Math.max(40, Math.min(1.6 * size, (size * grid.rows) / grid.columns))}px`;
      const text = `${layer + 1}.${head + 1}: ${weights.entropy[layer][head].toFixed(1)} bits`;
      const button = make("button", { type: "button", "data-key": `all:${layer}.${head}`, "aria-pressed": String(Boolean(picked)) }, canvas, named("span", text));
      button.setAttribute("aria-label", `layer ${layer + 1}, head ${head + 1}`);
      if (picked) canvas.style.outlineColor = `rgb(${picked.join(",")})`;
      button.addEventListener("click", () => pick(layer, head));
      box.append(button);
    }
  });
  return make("div", { class: "scroll bare" }, box);
}
