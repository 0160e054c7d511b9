"use strict";

/* What is computed from the data: weights unpacked, means, words instead of pieces, alignments. */

const STEPS = 10000;
const MIN_LINK_WEIGHT = 0.01;

async function unpack(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place += 1) bytes[place] = letters.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* The weights of all layers and heads of one kind; first all low bytes, then all high bytes of
   signed numbers of steps. */
class Weights {
  constructor(packed, bytes) {
    this.rows = packed.rows;
    this.columns = packed.columns;
    this.heads = packed.heads;
    this.entropy = packed.entropy;
    this.bytes = bytes;
    this.known = new Map();
  }

  /* The matrix of one head, or a mean: null stands for all layers, or all heads. */
  matrix(layer, head) {
    const name = `${layer} ${head}`;
    if (this.known.has(name)) return this.known.get(name);
    const size = this.rows * this.columns;
    const half = this.bytes.length / 2;
    const values = new Float32Array(size);
    let start = 0;
    let layers = 0;
    for (let number = 0; number < this.heads.length; number += 1) {
      const count = this.heads[number];
      const wanted = layer === null || layer === number;
      const first = head === null ? 0 : Math.min(head, count - 1);
      const last = head === null ? count : first + 1;
      for (let each = first; wanted && each < last; each += 1) {
        const offset = start + each * size;
        const share = 1 / (STEPS * (last - first));
        for (let place = 0; place < size; place += 1) {
          const high = this.bytes[half + offset + place];
          values[place] += (this.bytes[offset + place] + 256 * high - (high > 127 ? 65536 : 0)) * share;
        }
      }
      layers += wanted ? 1 : 0;
      start += count * size;
    }
    for (let place = 0; place < size; place += 1) values[place] /= layers;
    this.known.set(name, values);
    return values;
  }
}

/* A matrix with the names of its rows and columns. */
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

  /* The largest entries of a row, or of a column: pairs of place and weight. */
  most(row, column, count) {
    const length = row === null ? this.rows : this.columns;
    const found = [];
    for (let place = 0; place < length; place += 1) {
      found.push([place, row === null ? this.at(place, column) : this.at(row, place)]);
    }
    return found.sort((one, other) => other[1] - one[1]).slice(0, count);
  }
}

/* The mean over the pieces of the word that looks, the sum over those of the word looked at. */
function mergeWords(values, looking, lookedAt) {
  const rows = looking.words.length;
  const columns = lookedAt.words.length;
  const merged = new Float32Array(rows * columns);
  const sizes = new Array(rows).fill(0);
  for (const word of looking.wordOf) sizes[word] += 1;
  looking.wordOf.forEach((row, place) => {
    lookedAt.wordOf.forEach((column, at) => {
      merged[row * columns + column] += values[place * lookedAt.wordOf.length + at] / sizes[row];
    });
  });
  return merged;
}

/* Row t is written while token t - 1 is read: the row in which token t is read comes after it. */
function moveToReading(values, rows, columns) {
  const moved = new Float32Array(values.length);
  moved.set(values.subarray(columns), 0);
  moved.set(values.subarray(0, columns), (rows - 1) * columns);
  return moved;
}

function argmax(length, at) {
  let best = 0;
  for (let place = 1; place < length; place += 1) if (at(place) > at(best)) best = place;
  return best;
}

/* Links "source-target" by a grid whose last row and column are the ends, as in Python. */
function alignWords(grid, method) {
  const rows = grid.rows - 1;
  const columns = grid.columns - 1;
  const forward = new Set();
  const backward = new Set();
  if (rows < 1 || columns < 1) return [];
  for (let row = 0; row < rows; row += 1) {
    const column = argmax(columns, (place) => grid.at(row, place));
    if (grid.at(row, column) >= MIN_LINK_WEIGHT) forward.add(`${column}-${row}`);
  }
  for (let column = 0; column < columns; column += 1) {
    const row = argmax(rows, (place) => grid.at(place, column));
    if (grid.at(row, column) >= MIN_LINK_WEIGHT) backward.add(`${column}-${row}`);
  }
  const both = new Set([...forward].filter((link) => backward.has(link)));
  const chosen = { argmax: forward, intersection: both };
  const links = chosen[method] || grow(both, new Set([...forward, ...backward]));
  const pairs = [...links].map((link) => link.split("-").map(Number));
  return pairs.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
}

function grow(both, either) {
  const grown = new Set(both);
  const pairs = [...both].map((link) => link.split("-").map(Number));
  const waiting = pairs.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  const sources = new Set(waiting.map((pair) => pair[0]));
  const targets = new Set(waiting.map((pair) => pair[1]));
  while (waiting.length) {
    const [source, target] = waiting.shift();
    for (const down of [-1, 0, 1]) {
      for (const right of [-1, 0, 1]) {
        const near = [source + down, target + right];
        const link = near.join("-");
        const fresh = !sources.has(near[0]) || !targets.has(near[1]);
        if (either.has(link) && !grown.has(link) && fresh) {
          grown.add(link);
          waiting.push(near);
          sources.add(near[0]);
          targets.add(near[1]);
        }
      }
    }
  }
  return grown;
}
