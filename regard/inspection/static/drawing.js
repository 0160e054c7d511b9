"use strict";

/* Elements and pictures. Text only ever enters the page as textContent. */

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

/* Weights are drawn by their square root, or the small ones could not be told from none. */
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

/* Some models have weights below 0: those are orange. The style is asked once, not by word. */
function shader() {
  const { accent, warm } = colours();
  return (weight) => {
    const colour = weight < 0 ? warm : accent;
    return `rgba(${colour.join(",")},${(0.85 * strength(weight)).toFixed(3)})`;
  };
}

/* One pixel for each value; the browser makes it as large as it should be. */
function paint(canvas, values, rows, columns, colourOf) {
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let place = 0; place < rows * columns; place += 1) {
    const colour = colourOf(values[place]);
    for (let part = 0; part < 3; part += 1) image.data[4 * place + part] = colour[part];
    image.data[4 * place + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

function mixed(from, to, share) {
  return from.map((part, place) => part + (to[place] - part) * share);
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
  const ramp = Float32Array.from({ length: 161 }, (_, place) => (place / 160) ** 2);
  paintWeights(canvas, ramp, 1, 161);
  const ends = ["0", canvas, "1 (the colour grows with the square root of the weight)"];
  return make("div", { class: "legend" }, ...ends);
}

/* A heat map with names that stay in sight, and a cross of bars where the pointer is. */
function heatMap(grid, show, links) {
  const cell = Math.max(11, Math.min(34, Math.floor(900 / Math.max(grid.columns, grid.rows))));
  const letters = Math.max(10, Math.min(14, cell - 2));
  const [width, height] = [grid.columns * cell, grid.rows * cell];
  const left = labelRoom(grid.rowNames, letters);
  const top = Math.round(labelRoom(grid.columnNames, letters) * 0.87) + 10;
  const down = make("div", { class: "down" });
  const across = make("div", { class: "across" });
  const rowNames = grid.rowNames.map((text, row) => {
    const name = named("span", text, { class: "name" });
    place(name, { top: row * cell + (cell - letters) / 2, fontSize: letters });
    return name;
  });
  const columnNames = grid.columnNames.map((text, column) => {
    const name = named("span", text, { class: "name" });
    place(name, { left: column * cell + cell / 2 - letters / 2, top: top - 4, fontSize: letters });
    return name;
  });
  down.append(...rowNames);
  across.append(...columnNames);
  const canvas = make("canvas", {});
  paintWeights(canvas, grid.values, grid.rows, grid.columns);
  const body = make("div", { class: "body" }, canvas, ruled(cell));
  for (const [column, row] of links || []) body.append(dot(row, column, cell));
  place(body, { width, height });
  place(down, { width: left, height });
  place(across, { width: width + 70, height: top });
  follow(body, grid, cell, rowNames, columnNames, show);
  const corner = make("div", { class: "corner" });
  const map = make("div", { class: "map" }, corner, across, down, body);
  map.style.gridTemplateColumns = `${left}px ${width + 70}px`;
  map.style.gridTemplateRows = `${top}px ${height}px`;
  return make("div", { class: "scroll" }, map);
}

function labelRoom(names, letters) {
  const longest = Math.max(3, ...names.map((name) => name.length));
  return Math.round(Math.min(150, 14 + longest * letters * 0.62));
}

function place(element, sizes) {
  for (const [name, value] of Object.entries(sizes)) element.style[name] = `${value}px`;
}

function ruled(cell) {
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
  place(link, { left: column * cell + margin, top: row * cell + margin, width: size, height: size });
  return link;
}

function follow(body, grid, cell, rowNames, columnNames, show) {
  const bars = [make("div", { class: "bar" }), make("div", { class: "bar" })];
  body.append(...bars);
  let lit = [];
  const light = (row, column) => {
    for (const name of lit) name.classList.remove("lit");
    lit = row === null ? [] : [rowNames[row], columnNames[column]];
    for (const name of lit) name.classList.add("lit");
    for (const bar of bars) bar.style.display = row === null ? "none" : "block";
    if (row === null) return;
    place(bars[0], { left: 0, top: row * cell, width: grid.columns * cell, height: cell });
    place(bars[1], { left: column * cell, top: 0, width: cell, height: grid.rows * cell });
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
