"use strict";

/* Words and their links: two fields whose words can be pointed at, with the mouse or the caret. */

const byId = (name) => document.getElementById(name);

function make(tag, text, attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/* How many characters a text has, as the server counts them: two UTF-16 units may be one. */
function characters(text) {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/* Offsets of the server count characters, those of the browser UTF-16 units. */
function toUnits(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (offset) => offset;
  const starts = [];
  let unit = 0;
  for (const letter of text) {
    starts.push(unit);
    unit += letter.length;
  }
  return (offset) => (offset < starts.length ? starts[offset] : unit);
}

/* Sentences with offsets in UTF-16 units. */
function inUnits(sentences, source, target) {
  const read = toUnits(source);
  const written = toUnits(target);
  return sentences.map((each) => ({
    source: each.source.map(read),
    target: each.target.map(written),
    links: each.alignment.map(([a, b, c, d]) => [read(a), read(b), written(c), written(d)]),
  }));
}

/* A text area with a mirror behind it, which has a span for each word. */
class WordField {
  constructor(area, pointed) {
    this.area = area;
    this.mirror = area.previousElementSibling;
    this.words = [];
    this.kept = 0;
    area.addEventListener("mousemove", (event) => pointed(this.wordAt(event.clientX, event.clientY)));
    area.addEventListener("mouseleave", () => pointed(null));
    for (const name of ["keyup", "click", "focus"]) area.addEventListener(name, () => pointed(this.wordAtCaret()));
    area.addEventListener("blur", () => pointed(null));
    area.addEventListener("input", () => this.draw());
  }

  get text() {
    return this.area.value;
  }

  set text(value) {
    if (this.area.value !== value) this.area.value = value;
    this.draw();
  }

  draw() {
    const { text } = this;
    const parts = [];
    this.words = [];
    let end = 0;
    for (const found of text.matchAll(/\S+/g)) {
      parts.push(text.slice(end, found.index));
      const span = make("span", found[0]);
      end = found.index + found[0].length;
      if (end <= this.kept) span.className = "kept";
      this.words.push({ start: found.index, end, text: found[0], span });
      parts.push(span);
    }
    this.mirror.replaceChildren(...parts, `${text.slice(end)}\u200b`);
    this.area.parentElement.classList.toggle("long", text.length > 300);
  }

  wordAt(x, y) {
    const inside = (box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    return this.words.find((word) => [...word.span.getClientRects()].some(inside)) ?? null;
  }

  wordAtCaret() {
    const caret = this.area.selectionStart;
    return this.words.find((word) => word.start <= caret && caret <= word.end) ?? null;
  }

  /* Mark the words at these offsets. */
  mark(name, ranges) {
    const marked = [];
    for (const word of this.words) {
      const is = ranges.some(([start, end]) => word.start < end && start < word.end);
      word.span.classList.toggle(name, is);
      if (is) marked.push(word.text);
    }
    return marked;
  }
}

/* Shows which words belong together. */
class Links {
  constructor(source, target, readout) {
    this.source = new WordField(source, (word) => this.point(word, 0));
    this.target = new WordField(target, (word) => this.point(word, 1));
    this.readout = readout;
    this.sentences = [];
    this.sentence = 0;
  }

  point(word, side) {
    const own = side ? this.target : this.source;
    const other = side ? this.source : this.target;
    for (const each of [own, other]) {
      each.mark("asked", []);
      each.mark("linked", []);
    }
    this.readout.replaceChildren();
    if (!word) return;
    const name = side ? "target" : "source";
    const here = this.sentences.findIndex((each) => each[name][0] <= word.start && word.start < each[name][1]);
    if (here >= 0) this.sentence = here;
    const ranges = (here < 0 ? [] : this.sentences[here].links)
      .map((each) => [each.slice(2 * side, 2 * side + 2), each.slice(2 - 2 * side, 4 - 2 * side)])
      .filter(([[start, end]]) => word.start < end && start < word.end)
      .map(([, range]) => range);
    own.mark("asked", [[word.start, word.end]]);
    const found = other.mark("linked", ranges);
    if (!this.sentences.length) return;
    const between = side ? " comes from " : " becomes ";
    const linked = found.length ? [between, make("b", found.join(" … "))] : [" is not aligned with any word"];
    this.readout.replaceChildren(make("b", word.text), ...linked, ".");
  }
}
