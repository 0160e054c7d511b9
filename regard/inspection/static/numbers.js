"use strict";

/* Computation on the data: unpacking weights, means, merging pieces into words, alignments. */

const STEPS_PER_UNIT = 10000;
const MIN_LINK_WEIGHT = 0.01;

async function unpack(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index += 1) bytes[index] = letters.charCodeAt(index);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* The weights of all layers and heads of one kind, as signed 16-bit numbers of steps: first all
   low bytes, then all high bytes. */
class Weights {
  constructor(packed, bytes) {
    this.rows = packed.rows;
    this.columns = packed.columns;
    this.heads = packed.heads;
    this.entropy = packed.entropy;
    this.bytes = bytes;
    this.cached = new Map();
  }

  /* The matrix of one head, or a mean: null means all layers, or all heads. */
  matrix(layer, head) {
    const name = `${layer} ${head}`;
    if (this.cached.has(name)) return this.cached.get(name);
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
        const scale = 1 / (STEPS_PER_UNIT * (last - first));
        for (let index = 0; index < size; index += 1) {
          const high = this.bytes[half + offset + index];
          values[index] += (this.bytes[offset + index] + 256 * high - (high > 127 ? 65536 : 0)) * scale;
        }
      }
      layers += wanted ? 1 : 0;
      start += count * size;
    }
    for (let index = 0; index < size; index += 1) values[index] /= layers;
    this.cached.set(name, values);
    return values;
  }
}

/* The mean of some matrices. */
function meanOf(matrices) {
  return matrices[0].map((_, index) => matrices.reduce((sum, each) => sum + each[index], 0) / matrices.length);
}

/* The mean over the pieces of the attending word, the sum over those of the word attended to. */
function mergeWords(values, looking, lookedAt) {
  const rows = looking.words.length;
  const columns = lookedAt.words.length;
  const merged = new Float32Array(rows * columns);
  const sizes = new Array(rows).fill(0);
  for (const word of looking.wordOf) sizes[word] += 1;
  looking.wordOf.forEach((row, index) => {
    lookedAt.wordOf.forEach((column, at) => {
      merged[row * columns + column] += values[index * lookedAt.wordOf.length + at] / sizes[row];
    });
  });
  return merged;
}

/* Row t is written while token t - 1 is read, so the row in which token t is read is the next one. */
function moveToReading(values, rows, columns) {
  const moved = new Float32Array(values.length);
  moved.set(values.subarray(columns), 0);
  moved.set(values.subarray(0, columns), (rows - 1) * columns);
  return moved;
}

function argmax(length, at) {
  let best = 0;
  for (let index = 1; index < length; index += 1) if (at(index) > at(best)) best = index;
  return best;
}

/* Links "source-target" from a grid whose last row and column are the end tokens, as in Python. */
function alignWords(grid, method) {
  const rows = grid.rows - 1;
  const columns = grid.columns - 1;
  const forward = new Set();
  const backward = new Set();
  if (rows < 1 || columns < 1) return [];
  for (let row = 0; row < rows; row += 1) {
    const column = argmax(columns, (index) => grid.at(row, index));
    if (grid.at(row, column) >= MIN_LINK_WEIGHT) forward.add(`${column}-${row}`);
  }
  for (let column = 0; column < columns; column += 1) {
    const row = argmax(rows, (index) => grid.at(index, column));
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
  const queue = pairs.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  const sources = new Set(queue.map((pair) => pair[0]));
  const targets = new Set(queue.map((pair) => pair[1]));
  while (queue.length) {
    const [source, target] = queue.shift();
    for (const down of [-1, 0, 1]) {
      for (const right of [-1, 0, 1]) {
        const near = [source + down, target + right];
        const link = near.join("-");
        const fresh = !sources.has(near[0]) || !targets.has(near[1]);
        if (either.has(link) && !grown.has(link) && fresh) {
          grown.add(link);
          queue.push(near);
          sources.add(near[0]);
          targets.add(near[1]);
        }
      }
    }
  }
  return grown;
}
