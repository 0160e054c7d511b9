"use strict";

/* Views of one attention matrix: running text, lines between words, all heads at once. */

/* A probability as text; a tiny one keeps its exponent instead of becoming 0. */
function formatProbability(value) {
  if (value > 0 && value < 0.001) return value.toExponential(0);
  return value.toFixed(value < 0.0995 || value > 0.995 ? 3 : 2);
}

/* Makes words respond to the pointer and the Tab key; a click pins one. */
function pointable(elements, point) {
  let pinned = null;
  elements.forEach((element, number) => {
    element.tabIndex = 0;
    element.addEventListener("mouseenter", () => pinned === null && point(number));
    element.addEventListener("focus", () => pinned === null && point(number));
    element.addEventListener("mouseleave", () => pinned === null && point(null));
    element.addEventListener("click", () => {
      pinned = pinned === number ? null : number;
      point(number);
    });
  });
}

function wordsOf(names, className) {
  return names.map((text) => named("span", text, { class: className }));
}

function clear(words) {
  for (const word of words) {
    word.style.background = "";
    word.classList.remove("asked");
  }
}

function shadeBy(words, weightOf) {
  const shade = shader();
  words.forEach((word, index) => {
    word.style.background = shade(weightOf(index));
  });
}

/* Running text: point at a word to see what it attends to, or on the other side what attends to it. */
function textView(grid, same, titles, show) {
  const looking = wordsOf(grid.rowNames, "word");
  const lookedAt = same ? looking : wordsOf(grid.columnNames, "word");
  const paragraph = (words, title) => {
    const many = words.length > 60 ? "reading many" : "reading";
    const heading = named("span", title, { class: "title" });
    const text = make("p", { class: many }, heading);
    for (const word of words) text.append(word, " ");
    return text;
  };
  pointable(looking, (row) => {
    clear(looking);
    clear(lookedAt);
    if (row === null) return;
    shadeBy(lookedAt, (column) => grid.at(row, column));
    looking[row].classList.add("asked");
    show(row, null);
  });
  if (same) return make("div", {}, paragraph(looking, titles[0]));
  pointable(lookedAt, (column) => {
    clear(looking);
    clear(lookedAt);
    if (column === null) return;
    shadeBy(looking, (row) => grid.at(row, column));
    lookedAt[column].classList.add("asked");
    show(null, column);
  });
  const beside = looking.length > 60 ? { class: "beside" } : {};
  return make("div", beside, paragraph(looking, titles[0]), paragraph(lookedAt, titles[1]));
}

const LINE = 26;

/* Two columns with a line for each weight; larger weights are darker and thicker. */
function linesView(grid, titles, show) {
  const item = (text) => make("li", {}, named("span", text, { class: "word" }));
  const side = (names, where) => make("ul", { class: `side ${where}` }, ...names.map(item));
  const [left, right] = [side(grid.rowNames, "left"), side(grid.columnNames, "right")];
  const [looking, lookedAt] = [left, right].map((list) => [...list.querySelectorAll(".word")]);
  const canvas = make("canvas", {});
  const draw = (row, column) => drawLines(canvas, grid, row, column);
  const point = (row, column) => {
    clear(looking);
    clear(lookedAt);
    draw(row, column);
    if (row !== null) {
      looking[row].classList.add("asked");
      shadeBy(lookedAt, (index) => grid.at(row, index));
    } else if (column !== null) {
      lookedAt[column].classList.add("asked");
      shadeBy(looking, (index) => grid.at(index, column));
    }
    if (row !== null || column !== null) show(row, column);
  };
  pointable(looking, (row) => point(row, null));
  pointable(lookedAt, (column) => point(null, column));
  draw(null, null);
  const headings = [titles[0], "", titles[1]].map((text) => named("div", text, { class: "heading" }));
  return make("div", { class: "columns" }, ...headings, left, canvas, right);
}

function drawLines(canvas, grid, row, column) {
  const scale = Math.min(2, window.devicePixelRatio || 1);
  const [width, height] = [288, LINE * Math.max(grid.rows, grid.columns)];
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const accent = colours().accent.join(",");
  const faint = row === null && column === null ? 0.75 : 1;
  for (let from = 0; from < grid.rows; from += 1) {
    for (let to = 0; to < grid.columns; to += 1) {
      const weight = grid.at(from, to);
      const wanted = (row === null || row === from) && (column === null || column === to);
      if (!wanted || weight < 0.02) continue;
      const [start, end] = [(from + 0.5) * LINE, (to + 0.5) * LINE];
      context.strokeStyle = `rgba(${accent},${(faint * strength(weight) ** 1.5).toFixed(3)})`;
      context.lineWidth = 0.6 + 2.4 * weight;
      context.beginPath();
      context.moveTo(2, start);
      context.bezierCurveTo(width * 0.4, start, width * 0.6, end, width - 2, end);
      context.stroke();
    }
  }
}

/* Small multiples: one row per layer, one column per head; a click selects one. */
function headsView(weights, gridOf, choose) {
  const most = Math.max(...weights.heads);
  const box = make("div", { class: "heads" });
  const size = Math.max(72, Math.min(190, Math.floor(1050 / most) - 14));
  box.style.gridTemplateColumns = `repeat(${most}, ${size}px)`;
  weights.heads.forEach((count, layer) => {
    for (let head = 0; head < most; head += 1) {
      if (head >= count) {
        box.append(make("span", {}));
        continue;
      }
      const grid = gridOf(layer, head);
      const canvas = make("canvas", {});
      paintWeights(canvas, grid.values, grid.rows, grid.columns);
      canvas.style.height = `${Math.max(40, Math.min(2 * size, (size * grid.rows) / grid.columns))}px`;
      const bits = weights.entropy[layer][head].toFixed(1);
      const text = `layer ${layer + 1} head ${head + 1}: ${bits} bits`;
      const button = make("button", {}, canvas, named("span", text));
      button.addEventListener("click", () => choose(layer, head));
      box.append(button);
    }
  });
  return box;
}
