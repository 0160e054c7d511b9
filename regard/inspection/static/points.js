"use strict";

/* Points in the plane, the path of those that were written, and how probable each was at a step. */

const PLANE = 480; /* pixels of the longer side, where there is room */
const NARROW_PLANE = 120; /* of the shorter side at least */
const EDGE = 28; /* around the points, for their labels */
const DOT = 4;
const GLOW = 16; /* by how much a disc of weight 1 is larger than its point */
const LABEL = 11;
const RINGS = 4; /* of places for a label, around its point */

function rangeOf(values) {
  return values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
}

/* Where each point is on the screen: y grows upwards, and both axes have the same scale. */
function project(points, room) {
  const ranges = [0, 1].map((axis) => rangeOf(points.map((point) => point[axis])));
  const spans = ranges.map(([least, most]) => most - least);
  const span = Math.max(...spans) || 1;
  const inner = Math.min(room, PLANE) - 2 * EDGE;
  const sizes = spans.map((each) => Math.max(NARROW_PLANE, (inner * each) / span + 2 * EDGE));
  const places = points.map((point) => {
    const [x, y] = point.map((value, axis) => sizes[axis] / 2 + inner * ((value - ranges[axis][0]) / span - spans[axis] / span / 2));
    return [x, sizes[1] - y];
  });
  return { places, ranges, width: sizes[0], height: sizes[1] };
}

/* Of each row the point that was written there; the end is none. */
function pathOf(grid, count) {
  return grid.rowNames.map((name) => (/^\d+$/.test(name) && Number(name) >= 1 && Number(name) <= count ? Number(name) - 1 : null));
}

/* Of each row the two ends of the line to the point that was written there. Of three points or more, as of
   a polygon or a round trip, the end leads back to the first. */
function linesOf(path, places) {
  const closed = path.length > 3;
  return path.map((index, row) => {
    const to = closed && row === path.length - 1 ? path[0] : index;
    const ends = [row ? path[row - 1] : null, to];
    return ends.includes(null) ? null : ends.map((each) => places[each]);
  });
}

/* A line with an arrow a little after its middle, so that those of a line there and back are apart. */
function arrowLine(from, to, name) {
  const [across, down] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(across, down);
  if (length < 1) return null;
  const at = (along, aside) => [from[0] + (along * across - aside * down) / length, from[1] + (along * down + aside * across) / length];
  const size = Math.min(5, length / 4);
  const [middle, wing] = [0.56 * length, 0.8 * size];
  const arrow = [at(middle + size, 0), at(middle - size, wing), at(middle - size, -wing)];
  return make("g", { class: name }, make("path", { d: `M${from}L${to}` }), make("path", { class: "arrow", d: `M${arrow.join("L")}Z` }));
}

/* Whether a line passes through the middle of a box. */
function crosses([from, to], box) {
  const [across, down] = [to[0] - from[0], to[1] - from[1]];
  const along = ((box.x - from[0]) * across + (box.y - from[1]) * down) / (across ** 2 + down ** 2 || 1);
  const nearest = Math.max(0, Math.min(1, along));
  return Math.hypot(from[0] + nearest * across - box.x, from[1] + nearest * down - box.y) < box.high / 2;
}

const AROUND = [[1, -1], [1, 1], [-1, -1], [-1, 1], [1, 0], [-1, 0], [0, -1], [0, 1]];

/* Places around a point, the nearest first. */
function boxesAround([x, y], wide, high) {
  return Array.from({ length: AROUND.length * RINGS }, (_, number) => {
    const [across, down] = AROUND[number % AROUND.length];
    const ring = Math.floor(number / AROUND.length);
    const away = (DOT + 1 + 8 * ring) / Math.hypot(across, down);
    return { x: x + across * (away + wide / 2), y: y + down * (away + high / 2), wide, high, ring };
  });
}

/* Of each label the best box that no point and no other label touches; undefined where there is none. */
function placeLabels({ places, width, height }, lines) {
  const taken = [];
  const isFree = (box) =>
    Math.min(box.x, width - box.x) > box.wide / 2 &&
    Math.min(box.y, height - box.y) > box.high / 2 &&
    places.every(([x, y]) => Math.hypot(Math.max(0, Math.abs(x - box.x) - box.wide / 2), Math.max(0, Math.abs(y - box.y) - box.high / 2)) > DOT) &&
    taken.every((other) => Math.abs(other.x - box.x) > (other.wide + box.wide) / 2 || Math.abs(other.y - box.y) > (other.high + box.high) / 2);
  const cost = (box) => 0.6 * box.ring + lines.filter((line) => line && crosses(line, box)).length;
  return places.map((place, index) => {
    const free = boxesAround(place, widest([String(index + 1)], LABEL) + 2, LABEL + 4).filter(isFree);
    const costs = free.map(cost);
    const box = free[costs.indexOf(Math.min(...costs))];
    if (box) taken.push(box);
    return box;
  });
}

/* A point with its index; one that has no room for it shows it only when it is pointed at. */
function markOf([x, y], text, title, box) {
  const [{ x: labelX, y: labelY, ring }] = [box || boxesAround([x, y], LABEL, LABEL)[0]];
  const leader = ring ? make("path", { class: "leader", d: `M${x},${y}L${labelX},${labelY}` }) : null;
  const label = named("text", text, { class: box ? "" : "skipped", x: labelX, y: labelY });
  const dots = [["reach", 2.2 * DOT], ["dot", DOT]].map(([name, r]) => make("circle", { class: name, cx: x, cy: y, r }));
  return make("g", { class: "mark", role: "option", "aria-label": title }, named("title", title), leader, ...dots, label);
}

/* Discs, one for each series, whose size is the weight of the point. */
function discsOf([x, y], series) {
  return series.map((each) => {
    const disc = make("circle", { class: "disc", cx: x, cy: y, r: 0 });
    disc.style.fill = translucent(each.colour, 0.45);
    return disc;
  });
}

function rangesNote([across, up]) {
  const [x, y] = [across, up].map(([least, most]) => `from ${Number(least.toPrecision(4))} to ${Number(most.toPrecision(4))}`);
  return `Across: x ${x}. Up: y ${y}. Both have the same scale.`;
}

/* What is written can be pointed at, and so can the points. */
function pointsView(series, given, room, pointer) {
  const [{ grid }] = series;
  const points = given.slice(0, grid.columns - 1); /* the last column is the end */
  const plane = project(points, room);
  const path = pathOf(grid, points.length);
  const lines = linesOf(path, plane.places);
  const boxes = placeLabels(plane, lines);
  const arrows = lines.map((line, row) => line && arrowLine(...line, path[row] === null ? "step closing" : "step"));
  const discs = plane.places.map((place) => discsOf(place, series));
  const marks = plane.places.map((place, index) => markOf(place, String(index + 1), `${index + 1}: ${points[index].join(",")}`, boxes[index]));
  const drawn = ["width", "height"].map((name) => [name, plane[name].toFixed(1)]);
  const layers = [discs.flat(), arrows.filter(Boolean), marks].map((layer) => make("g", {}, ...layer));
  const svg = make("svg", { class: "plane", ...Object.fromEntries(drawn), viewBox: `0 0 ${plane.width} ${plane.height}`, role: "listbox", "aria-label": "points" }, ...layers);
  const written = wordsOf(grid.rowNames);
  pointable(written, pointer, (row) => [row, null]);
  pointable(marks, pointer, (column) => [null, column]);
  const light = (row, column) => {
    lightPath(series, written, arrows, row, column);
    marks.forEach((mark, index) => mark.classList.toggle("lit", index === column || (row !== null && index === path[row])));
    discs.forEach((those, index) => those.forEach((disc, number) => {
      const weight = row === null ? 0 : series[number].grid.at(row, index);
      disc.setAttribute("r", weight < 0.0005 ? 0 : DOT + GLOW * strength(weight));
    }));
  };
  const text = make("div", { class: "reading", role: "listbox", "aria-label": "written" });
  for (const word of written) text.append(word, " ");
  const closing = arrows.some((arrow) => arrow && arrow.matches(".closing")) ? " The dashed line closes the path." : "";
  const said = named("p", `Disc: weight of the point when that index was written.${closing} ${rangesNote(plane.ranges)}`, { class: "note" });
  return { element: make("div", { class: "points" }, text, svg, said), light };
}

/* At a step: the path so far, and what was written. At a point: when it had weight. */
function lightPath(series, written, arrows, row, column) {
  written.forEach((word, index) => {
    word.style.background = "";
    word.classList.toggle("asked", index === row);
    if (row === null && column !== null) shade(word, series, (grid) => grid.at(index, column));
  });
  arrows.forEach((arrow, step) => {
    if (!arrow) return;
    arrow.classList.toggle("now", step === row);
    arrow.classList.toggle("later", row !== null && step > row);
  });
}
