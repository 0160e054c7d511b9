"use strict";

/* A heat map with a word on every row and column. */

const measuring = document.createElement("canvas").getContext("2d");

function widest(names, size) {
  measuring.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(Math.max(0, ...names.map((name) => measuring.measureText(name).width)));
}

const NARROWEST = 12; /* pixels of a column whose name can be read */
const SLOT = 5; /* slots of a memory, of which there are many, may be narrower */
const TILT = (55 * Math.PI) / 180;

/* The sizes that fit a grid into a width, as far as that stays readable. Column names are level where
   they fit, and tilted otherwise: the last one then needs room behind the map. */
function layOut(grid, width, smallest, largest) {
  const room = Math.max(60, Math.min(320, 0.28 * width));
  const left = Math.min(room, widest(grid.rowNames, 13) + 12);
  const cell = (after) => Math.max(smallest, Math.min(largest, Math.floor((width - left - after - 2) / grid.columns)));
  const longest = Math.min(130, widest(grid.columnNames, 13) + 2);
  const numbered = grid.columnNames.every((name) => /^\d+$/.test(name)); /* of which some can be left out */
  const flat = numbered || widest(grid.columnNames, 13) + 8 <= cell(0);
  const beyond = Math.ceil(longest * Math.cos(TILT) + 8);
  const across = flat ? cell(0) : Math.max(cell(beyond), Math.min(cell(beyond / 2), smallest + 8));
  const down = Math.max(14, Math.min(28, across));
  const text = Math.max(10, Math.min(13, down - 2));
  const top = flat ? text + 10 : Math.ceil(longest * Math.sin(TILT) + text * Math.cos(TILT)) + 6;
  const after = flat ? 0 : Math.max(0, Math.ceil(beyond - across / 2));
  return { left, top, after, across, down, text, flat, longest };
}

function rowLabels(grid, size) {
  return grid.rowNames.map((text, row) => {
    const name = named("span", text, { class: "name", title: text });
    setPixels(name, { top: row * size.down, height: size.down, lineHeight: size.down, fontSize: size.text, maxWidth: size.left - 8 });
    return name;
  });
}

/* Where columns are narrower than their names, some names appear only when they are pointed at. */
function columnLabels(grid, size) {
  const needed = size.flat ? widest(grid.columnNames, size.text) + 4 : NARROWEST;
  const every = Math.ceil(needed / size.across);
  return grid.columnNames.map((text, column) => {
    const name = named("span", text, { class: size.flat ? "name flat" : "name tilted", title: text });
    name.classList.toggle("skipped", column % every > 0);
    const start = column * size.across;
    const span = Math.max(size.across, needed);
    if (size.flat) setPixels(name, { left: start + (size.across - span) / 2, bottom: 4, width: span, fontSize: size.text });
    else setPixels(name, { left: start + Math.max(size.across / 2, 0.8 * size.text), bottom: 3, fontSize: size.text, maxWidth: size.longest });
    return name;
  });
}

function gridLines(size) {
  const lines = make("div", { class: "grid" });
  const width = size.across < 30 ? 1 : 2;
  const line = `var(--gap) 0 ${width}px, transparent ${width}px 100%`;
  lines.style.background = `linear-gradient(${line}), linear-gradient(90deg, ${line})`;
  lines.style.backgroundSize = `${size.across}px ${size.down}px`;
  return lines;
}

function dot(row, column, size) {
  const link = make("div", { class: "link" });
  const width = Math.max(6, Math.min(12, 0.45 * Math.min(size.across, size.down)));
  const [left, top] = [column * size.across + (size.across - width) / 2, row * size.down + (size.down - width) / 2];
  setPixels(link, { left, top, width, height: width });
  return link;
}

/* Series are { grid, colour } of the same words. `pointer` is told what is pointed at; `light` shows
   it here. */
function heatMap(series, { width, links = [], pointer = null, label = "", smallest = NARROWEST, largest = 56 }) {
  const [{ grid }] = series;
  const size = layOut(grid, width, smallest, largest);
  const [rowNames, columnNames] = [rowLabels(grid, size), columnLabels(grid, size)];
  const down = make("div", { class: "down" }, ...rowNames);
  const across = make("div", { class: "across" }, ...columnNames);
  const canvas = make("canvas", {});
  paintSeries(canvas, series);
  const body = make("div", { class: "body", role: "img", "aria-label": label }, canvas, gridLines(size));
  for (const [column, row] of links) body.append(dot(row, column, size));
  const [bodyWidth, bodyHeight] = [grid.columns * size.across, grid.rows * size.down];
  setPixels(body, { width: bodyWidth, height: bodyHeight });
  const map = make("div", { class: "map" }, make("div", { class: "corner" }), across, down, body);
  map.style.gridTemplateColumns = `${size.left}px ${bodyWidth + size.after}px`;
  map.style.gridTemplateRows = `${size.top}px ${bodyHeight}px`;
  const light = crosshairs(body, size, rowNames, columnNames);
  if (pointer) listen(body, grid, size, pointer);
  return { element: make("div", { class: "scroll" }, map), light, top: size.top };
}

/* What is down and across, as a sentence. */
function axesOf([down, across]) {
  if (down === across) return `Down: ${down}, which attends. Across: ${across}, which is attended to.`;
  return `Down: ${down}. Across: ${across}.`;
}

/* How a weight is drawn. */
function scaleOf(parts) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const steps = Float32Array.from({ length: 161 }, (_, index) => (index / 160) ** 2);
  paintSeries(canvas, [{ grid: new Grid(steps, [""], new Array(161).fill("")), colour: parts }]);
  return make("span", { class: "scale", title: "The intensity is the square root of the weight." }, "weight 0", canvas, "1");
}

function crosshairs(body, size, rowNames, columnNames) {
  const bars = [make("div", { class: "bar" }), make("div", { class: "bar" })];
  body.append(...bars);
  let lit = [];
  return (row, column) => {
    for (const name of lit) name.classList.remove("lit");
    lit = [rowNames[row], columnNames[column]].filter(Boolean);
    for (const name of lit) name.classList.add("lit");
    bars[0].style.display = row === null ? "none" : "block";
    bars[1].style.display = column === null ? "none" : "block";
    if (row !== null) setPixels(bars[0], { left: 0, top: row * size.down, width: columnNames.length * size.across, height: size.down });
    if (column !== null) setPixels(bars[1], { left: column * size.across, top: 0, width: size.across, height: rowNames.length * size.down });
  };
}

/* The pointer and, once the map has the focus, the arrow keys. */
function listen(body, grid, size, pointer) {
  const cellAt = (event) => {
    const box = body.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / size.down);
    const column = Math.floor((event.clientX - box.left) / size.across);
    return row >= 0 && column >= 0 && row < grid.rows && column < grid.columns ? [row, column] : null;
  };
  let at = [0, 0];
  body.tabIndex = 0;
  body.addEventListener("mousemove", (event) => {
    const cell = cellAt(event);
    if (cell) pointer.hover(...(at = cell));
  });
  body.addEventListener("mouseleave", () => pointer.hover(null, null));
  body.addEventListener("click", (event) => cellAt(event) && pointer.pin(...cellAt(event)));
  body.addEventListener("focus", () => body.matches(":focus-visible") && pointer.hover(...at));
  body.addEventListener("blur", () => pointer.hover(null, null));
  const moves = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
  body.addEventListener("keydown", (event) => {
    if (event.key === "Enter") pointer.pin(...at);
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const [row, column] = [at[0] + move[0], at[1] + move[1]];
    if (row < 0 || column < 0 || row >= grid.rows || column >= grid.columns) return;
    at = [row, column];
    pointer.release();
    pointer.hover(row, column);
  });
}
