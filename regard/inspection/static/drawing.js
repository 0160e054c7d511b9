"use strict";

/* Elements and images. Text only ever enters the page as textContent. */

function make(tag, attributes, ...children) {
  const svg = ["svg", "g", "path", "rect", "text"].includes(tag);
  const element = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function named(tag, text, attributes) {
  const element = make(tag, { dir: "auto", ...attributes });
  element.textContent = text;
  return element;
}

/* The square root of a weight, so that small weights can be told from zero. */
function strength(weight) {
  return Math.sqrt(Math.min(1, Math.abs(weight)));
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const triple = (name) => style.getPropertyValue(name).split(",").map(Number);
  const ground = style.getPropertyValue("--ground").trim();
  const parts = [1, 3, 5].map((start) => parseInt(ground.slice(start, start + 2), 16));
  return { ground: parts, accent: triple("--accent"), warm: triple("--warm") };
}

/* Negative weights, which some models have, are orange. Reads the style once, not once per word. */
function shader() {
  const { accent, warm } = colours();
  return (weight) => {
    const colour = weight < 0 ? warm : accent;
    return `rgba(${colour.join(",")},${(0.85 * strength(weight)).toFixed(3)})`;
  };
}

/* One pixel per value; the browser scales it up. */
function paint(canvas, values, rows, columns, colourOf) {
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let index = 0; index < rows * columns; index += 1) {
    const colour = colourOf(values[index]);
    for (let part = 0; part < 3; part += 1) image.data[4 * index + part] = colour[part];
    image.data[4 * index + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

function mixed(from, to, fraction) {
  return from.map((part, index) => part + (to[index] - part) * fraction);
}

function paintWeights(canvas, values, rows, columns) {
  const { ground, accent, warm } = colours();
  const table = (colour) => Array.from({ length: 256 }, (_, step) => mixed(ground, colour, step / 255));
  const [above, below] = [table(accent), table(warm)];
  const colourOf = (weight) => (weight < 0 ? below : above)[Math.round(255 * strength(weight))];
  paint(canvas, values, rows, columns, colourOf);
}

function paintSigned(canvas, values, rows, columns) {
  const { ground, accent, warm } = colours();
  const colourOf = (value) => mixed(ground, value < 0 ? warm : accent, Math.min(1, Math.abs(value)));
  paint(canvas, values, rows, columns, colourOf);
}

function legend() {
  const canvas = make("canvas", {});
  const ramp = Float32Array.from({ length: 161 }, (_, index) => (index / 160) ** 2);
  paintWeights(canvas, ramp, 1, 161);
  const ends = ["0", canvas, "1 (colour intensity is the square root of the weight)"];
  return make("div", { class: "legend" }, ...ends);
}

/* A heat map whose labels stay visible while scrolling, with crosshairs at the pointer. */
function heatMap(grid, show, links) {
  const cell = Math.max(11, Math.min(34, Math.floor(900 / Math.max(grid.columns, grid.rows))));
  const fontSize = Math.max(10, Math.min(14, cell - 2));
  const [width, height] = [grid.columns * cell, grid.rows * cell];
  const left = labelSpace(grid.rowNames, fontSize);
  const top = Math.round(labelSpace(grid.columnNames, fontSize) * 0.87) + 10;
  const down = make("div", { class: "down" });
  const across = make("div", { class: "across" });
  const rowNames = grid.rowNames.map((text, row) => {
    const name = named("span", text, { class: "name" });
    setPixels(name, { top: row * cell + (cell - fontSize) / 2, fontSize });
    return name;
  });
  const columnNames = grid.columnNames.map((text, column) => {
    const name = named("span", text, { class: "name" });
    setPixels(name, { left: column * cell + cell / 2 - fontSize / 2, top: top - 4, fontSize });
    return name;
  });
  down.append(...rowNames);
  across.append(...columnNames);
  const canvas = make("canvas", {});
  paintWeights(canvas, grid.values, grid.rows, grid.columns);
  const body = make("div", { class: "body" }, canvas, gridLines(cell));
  for (const [column, row] of links || []) body.append(dot(row, column, cell));
  setPixels(body, { width, height });
  setPixels(down, { width: left, height });
  setPixels(across, { width: width + 70, height: top });
  followPointer(body, grid, cell, rowNames, columnNames, show);
  const corner = make("div", { class: "corner" });
  const map = make("div", { class: "map" }, corner, across, down, body);
  map.style.gridTemplateColumns = `${left}px ${width + 70}px`;
  map.style.gridTemplateRows = `${top}px ${height}px`;
  return make("div", { class: "scroll" }, map);
}

function labelSpace(names, fontSize) {
  const longest = Math.max(3, ...names.map((name) => name.length));
  return Math.round(Math.min(150, 14 + longest * fontSize * 0.62));
}

function setPixels(element, sizes) {
  for (const [name, value] of Object.entries(sizes)) element.style[name] = `${value}px`;
}

function gridLines(cell) {
  const lines = make("div", { class: "grid" });
  if (cell >= 16) {
    const line = "var(--ground) 0 1px, transparent 1px 100%";
    lines.style.background = `linear-gradient(${line}), linear-gradient(90deg, ${line})`;
    lines.style.backgroundSize = `${cell}px ${cell}px`;
  }
  return lines;
}

function dot(row, column, cell) {
  const link = make("div", { class: "link" });
  const size = Math.max(5, cell * 0.4);
  const margin = (cell - size) / 2;
  setPixels(link, { left: column * cell + margin, top: row * cell + margin, width: size, height: size });
  return link;
}

function followPointer(body, grid, cell, rowNames, columnNames, show) {
  const bars = [make("div", { class: "bar" }), make("div", { class: "bar" })];
  body.append(...bars);
  let lit = [];
  const light = (row, column) => {
    for (const name of lit) name.classList.remove("lit");
    lit = row === null ? [] : [rowNames[row], columnNames[column]];
    for (const name of lit) name.classList.add("lit");
    for (const bar of bars) bar.style.display = row === null ? "none" : "block";
    if (row === null) return;
    setPixels(bars[0], { left: 0, top: row * cell, width: grid.columns * cell, height: cell });
    setPixels(bars[1], { left: column * cell, top: 0, width: cell, height: grid.rows * cell });
    show(row, column);
  };
  body.addEventListener("mousemove", (event) => {
    const box = body.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / cell);
    const column = Math.floor((event.clientX - box.left) / cell);
    if (row >= 0 && column >= 0 && row < grid.rows && column < grid.columns) light(row, column);
  });
  body.addEventListener("mouseleave", () => light(null, null));
}
