"use strict";

/* Elements, colours and images. Text only ever enters the page as textContent. */

const SVG = ["svg", "g", "path", "rect", "text", "circle", "line", "title"];

function make(tag, attributes, ...children) {
  const element = SVG.includes(tag)
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

function setPixels(element, sizes) {
  for (const [name, value] of Object.entries(sizes)) element.style[name] = `${value}px`;
}

/* The square root of a weight, so that small weights can be told from zero. */
function strength(weight) {
  return Math.sqrt(Math.min(1, Math.abs(weight)));
}

/* Colours of the style sheet, as [red, green, blue]. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).split(",").map(Number);
}

function swatch(parts) {
  const mark = make("i", { class: "swatch", "aria-hidden": "true" });
  mark.style.background = `rgb(${parts.join(",")})`;
  return mark;
}

function translucent(parts, opacity) {
  return `rgba(${parts.join(",")},${opacity.toFixed(3)})`;
}

function mixed(from, to, fraction) {
  return from.map((part, index) => part + (to[index] - part) * fraction);
}

/* One pixel per value; the browser scales it up. */
function paint(canvas, rows, columns, colourOf) {
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let index = 0; index < rows * columns; index += 1) {
    const parts = colourOf(index);
    for (let part = 0; part < 3; part += 1) image.data[4 * index + part] = parts[part];
    image.data[4 * index + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

/* 256 shades from the ground to a colour. */
function ramp(parts) {
  const ground = colour("--ground");
  return Array.from({ length: 256 }, (_, step) => mixed(ground, parts, step / 255));
}

/* Each cell has a stripe per series, in its colour; negative weights, which some models have, are
   grey. */
function paintSeries(canvas, series) {
  const [{ grid }] = series;
  const below = ramp(colour("--faint"));
  const ramps = series.map((each) => ramp(each.colour));
  const width = grid.columns * series.length;
  paint(canvas, grid.rows, width, (index) => {
    const [row, rest] = [Math.floor(index / width), index % width];
    const [column, number] = [Math.floor(rest / series.length), rest % series.length];
    const weight = series[number].grid.at(row, column);
    return (weight < 0 ? below : ramps[number])[Math.round(255 * strength(weight))];
  });
}

function paintSigned(canvas, values, rows, columns) {
  const [ground, above, below] = ["--ground", "--head-1", "--head-2"].map(colour);
  paint(canvas, rows, columns, (index) => {
    const value = values[index];
    return mixed(ground, value < 0 ? below : above, Math.min(1, Math.abs(value)));
  });
}

/* A matrix with labels for its rows and columns. */
class Grid {
  constructor(values, rowNames, columnNames) {
    this.values = values;
    this.rowNames = rowNames;
    this.columnNames = columnNames;
    this.rows = rowNames.length;
    this.columns = columnNames.length;
  }

  at(row, column) {
    return this.values[row * this.columns + column];
  }

  /* The largest entries of a row, or of a column: pairs of index and weight. */
  most(row, column, count) {
    const length = row === null ? this.rows : this.columns;
    const found = [];
    for (let index = 0; index < length; index += 1) {
      found.push([index, row === null ? this.at(index, column) : this.at(row, index)]);
    }
    return found.sort((one, other) => other[1] - one[1]).slice(0, count);
  }
}

/* Arrow keys move through some elements, of which one is in the Tab order. */
function roving(elements, next) {
  elements.forEach((element, number) => {
    element.tabIndex = number === 0 ? 0 : -1;
    element.addEventListener("focus", () => {
      for (const other of elements) other.tabIndex = -1;
      element.tabIndex = 0;
    });
    element.addEventListener("keydown", (event) => {
      const to = elements[next(event.key, number)];
      if (!to) return;
      event.preventDefault();
      to.focus();
    });
  });
}

function inOrder(key, number) {
  return number + ({ ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key] || NaN);
}
