"use strict";

/* The search tree: every hypothesis that was kept, step by step from left to right. */

const STEP = 92;
const LANE = 30;

function nodesOf(packed) {
  const nodes = packed.map(([parent, piece, step, log, fate, rank, score], number) => {
    return { number, parent, piece, step, log, fate, rank, score, children: [], best: false };
  });
  for (const node of nodes) if (node.parent >= 0) nodes[node.parent].children.push(node);
  let node = nodes.find((each) => each.rank === 0);
  while (node) {
    node.best = true;
    node = nodes[node.parent];
  }
  return nodes;
}

/* The best hypothesis runs along the top; each branch takes the first free lane below. */
function assignLanes(nodes) {
  const ends = [];
  const order = (one, other) => other.best - one.best || other.log - one.log;
  const settle = (first, lowest) => {
    const chain = [first];
    while (chain[chain.length - 1].children.length) {
      chain.push(chain[chain.length - 1].children.sort(order)[0]);
    }
    const stop = chain[chain.length - 1].step;
    let lane = lowest;
    const taken = (each) => (ends[each] || []).some(([from, to]) => from <= stop && to >= first.step - 1);
    while (taken(lane)) lane += 1;
    (ends[lane] = ends[lane] || []).push([first.step, stop]);
    for (const node of chain) node.lane = lane;
    for (const node of chain.reverse()) {
      for (const child of node.children.slice(1)) settle(child, lane + 1);
    }
  };
  nodes.filter((node) => node.parent < 0).sort(order).forEach((node, index) => settle(node, index && 1));
  return ends.length;
}

function textOf(nodes, node) {
  const pieces = [];
  for (let each = node; each; each = nodes[each.parent]) pieces.unshift(each.piece);
  return pieces.join(" ");
}

const FATES = {
  "went on": "it continued",
  dropped: "it was dropped after this token: others were more probable",
  finished: "it finished",
  open: "it was still open when the search ended",
};

function describe(nodes, node) {
  const before = node.parent < 0 ? 0 : nodes[node.parent].log;
  const facts = [
    `log p ${node.log.toFixed(2)}`,
    `p of this token ${formatProbability(Math.exp(node.log - before))}`,
    node.rank >= 0 ? `score ${node.score.toFixed(3)}, rank ${node.rank + 1}` : null,
    FATES[node.fate],
  ];
  return [named("bdi", textOf(nodes, node)), `: ${facts.filter(Boolean).join(", ")}.`];
}

/* A token; the length of the line below it is its probability. */
function box(nodes, node, x, y) {
  const whole = node.rank >= 0 ? `${node.piece} ${node.score.toFixed(2)}` : node.piece;
  const text = whole.length > 10 ? `${whole.slice(0, 9)}…` : whole;
  const probability = Math.exp(node.log - (node.parent < 0 ? 0 : nodes[node.parent].log));
  return [
    make("rect", { class: "box", x, y, width: STEP - 18, height: 22, rx: 4 }),
    make("rect", { class: "probable", x: x + 4, y: y + 18, width: (STEP - 26) * probability, height: 2 }),
    named("text", text, { x: x + 7, y: y + 14 }),
  ];
}

/* Left and right go to the parent and the first child, up and down to the next lane of the same step. */
function neighbourOf(nodes, node, key) {
  const lane = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (key === "ArrowLeft") return node.parent;
  if (key === "ArrowRight") return node.children.length ? node.children[0].number : -1;
  if (!lane) return -1;
  const among = nodes.filter((each) => each.step === node.step && lane * (each.lane - node.lane) > 0);
  const nearest = among.sort((one, other) => lane * (one.lane - other.lane))[0];
  return nearest ? nearest.number : -1;
}

function edge(from, to, start, end) {
  return make("path", { d: `M${from},${start}C${from + 9},${start} ${to - 9},${end} ${to},${end}` });
}

function treeView(packed, readout) {
  const nodes = nodesOf(packed);
  const lanes = assignLanes(nodes);
  const steps = Math.max(...nodes.map((node) => node.step));
  const [width, height] = [steps * STEP + 20, lanes * LANE + 20];
  const svg = make("svg", { class: "tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "tree", "aria-label": "search tree" });
  const x = (node) => 12 + (node.step - 1) * STEP;
  const y = (node) => 10 + node.lane * LANE;
  const groups = nodes.map((node) => {
    const parent = nodes[node.parent];
    const group = make("g", { class: `${node.fate} ${node.best ? "best" : ""}`, role: "treeitem", "aria-label": textOf(nodes, node) });
    if (parent) group.append(edge(x(parent) + STEP - 18, x(node), y(parent) + 11, y(node) + 11));
    group.append(...box(nodes, node, x(node), y(node)));
    const show = () => {
      for (const lit of svg.querySelectorAll(".lit")) lit.classList.remove("lit");
      group.classList.add("lit");
      readout.replaceChildren(...describe(nodes, node));
    };
    group.addEventListener("mouseenter", show);
    group.addEventListener("focus", show);
    return group;
  });
  roving(groups, (key, number) => neighbourOf(nodes, nodes[number], key));
  svg.append(...groups);
  return make("div", { class: "scroll" }, svg);
}
