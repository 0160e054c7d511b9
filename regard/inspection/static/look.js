"use strict";

/* The page: what is chosen, and how it is drawn. */

const payload = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const PANELS = {
  attention: "Attention",
  alignment: "Alignment",
  search: "Search",
  tokens: "Tokens",
  vectors: "Vectors",
};

const state = {
  chosen: { look: 0, panel: "attention", kind: "cross", view: null, unit: "words", method: "grow-diag", moment: null },
  picked: new Map(),
  pointer: null,
  drawn: 0,

  change(values) {
    Object.assign(state.chosen, values);
    return state.render();
  },

  /* A row of buttons, one of them pressed; options are [value, text]. */
  choice(title, name, options, now = state.chosen[name]) {
    const buttons = options.map(([value, text]) => {
      const button = named("button", text, { type: "button", "data-choice": name, "data-key": `${name}:${value}` });
      button.setAttribute("aria-pressed", String(now === value));
      button.addEventListener("click", () => state.change({ [name]: value }));
      return button;
    });
    const row = make("div", {}, ...buttons);
    return make("div", { class: "choice", role: "group", "aria-label": title }, named("span", title), row);
  },

  heads(kind) {
    if (!state.picked.has(kind)) state.picked.set(kind, new HeadChoice(kind));
    return state.picked.get(kind);
  },

  moment: (look) => state.chosen.moment || look.heads.moment,

  point(describe) {
    state.pointer = new Pointer(describe);
    return state.pointer;
  },

  width() {
    const style = getComputedStyle(page);
    return page.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  },

  /* Draws everything below the header; a newer call replaces one that still waits. */
  async render() {
    const mine = (state.drawn += 1);
    const look = payload.looks[state.chosen.look];
    const weights = await unpackedLook(look);
    if (mine !== state.drawn) return;
    const { chosen } = state;
    if (!look.attention[chosen.kind]) chosen.kind = Object.keys(look.attention)[0] || "cross";
    for (const [kind, found] of Object.entries(weights)) state.heads(kind).fill(look, found);
    const build = {
      attention: () => attentionPanel(state, look, weights),
      alignment: () => alignmentPanel(state, look, weights.cross),
      search: () => searchPanel(look),
      tokens: () => tokensPanel(look),
      vectors: () => vectorsPanel(look),
    };
    document.title = `${payload.title}: ${look.title.slice(0, 60)}`;
    document.body.classList.toggle("long", isLong(look));
    const key = document.activeElement && document.activeElement.dataset.key;
    header.show(look);
    state.pointer = null;
    const main = make("main", {}, ...build[chosen.panel]());
    header.below.replaceChildren(panels(), main);
    if (key) header.below.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
    document.body.dataset.ready = "true";
  },
};

/* Of more words than lines between them could show. */
function isLong({ sides }) {
  return Math.max(sides.source.words.length, sides.target.words.length) > 60;
}

function panels() {
  const bar = make("nav", { "aria-label": "panels" });
  for (const [name, text] of Object.entries(PANELS)) {
    const button = named("button", text, { type: "button", "data-panel": name, "data-key": `panel:${name}` });
    button.setAttribute("aria-pressed", String(state.chosen.panel === name));
    button.addEventListener("click", () => state.change({ panel: name }));
    bar.append(button);
  }
  return bar;
}

const unpacked = new WeakMap();

async function unpackedLook(look) {
  if (!unpacked.has(look)) {
    const found = {};
    for (const [kind, packed] of Object.entries(look.attention)) {
      found[kind] = new Weights(packed, await unpack(packed.data));
    }
    unpacked.set(look, found);
  }
  return unpacked.get(look);
}

/* The sentence and its translation, or the editor of a served page; it stays while the rest is drawn. */
class Header {
  constructor() {
    this.below = make("div", {});
    this.sentence = make("p", {});
    this.translation = make("p", { class: "to", dir: "auto" });
    this.facts = make("p", { class: "facts" });
    this.editor = payload.editable ? new Editor((look) => this.replace(look)) : null;
    this.select = this.sentences();
    this.kind = named("div", payload.title, { class: "kind" });
    const pair = make("div", { class: "pair" }, this.editor ? this.editor.element : this.sentence, this.translation);
    const top = make("div", { class: "top" }, this.kind, payload.looks.length > 1 ? this.select : null);
    page.replaceChildren(make("header", {}, top, pair, this.facts), this.below);
    if (this.editor) this.editor.open(payload.looks[0], 0);
  }

  sentences() {
    const select = make("select", { "aria-label": "sentence" });
    payload.looks.forEach((each, number) => select.append(named("option", this.title(each, number), { value: number })));
    select.addEventListener("change", () => {
      if (this.editor) this.editor.open(payload.looks[Number(select.value)], Number(select.value));
      state.change({ look: Number(select.value) });
    });
    return select;
  }

  title(look, number) {
    return `${number + 1}. ${look.title.slice(0, 60)}`;
  }

  replace(look) {
    payload.looks[state.chosen.look] = look;
    this.select.options[state.chosen.look].textContent = this.title(look, state.chosen.look);
    return state.render();
  }

  show(look) {
    this.sentence.replaceChildren(...sourceText(look));
    const begun = look.prefix && look.translation.startsWith(look.prefix) ? look.prefix : "";
    this.translation.replaceChildren(named("u", begun), look.translation.slice(begun.length));
    const origin = look.given ? "given target" : look.prefix ? "found by search, with its beginning given" : look.searchTree.length ? "found by search" : "found without search";
    this.facts.textContent = `${origin}, log p ${look.log.toFixed(3)}, ${look.written.length} tokens`;
  }
}

/* The source; what the model found for its words, such as their fertilities, is above them. */
function sourceText(look) {
  const { above } = look.sides.source;
  if (!above.length) return [named("bdi", look.title)];
  return above.flatMap(([word, value]) => [make("ruby", {}, named("bdi", word), named("rt", value)), " "]);
}

let resized = null;
let before = window.innerWidth;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  if (window.innerWidth === before) return;
  resized = setTimeout(() => {
    before = window.innerWidth;
    state.render();
  }, 120);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !state.pointer) return;
  state.pointer.release();
  state.pointer.show(null, null);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.render());
if (isLong(payload.looks[0]) && !payload.looks[0].points.length) state.chosen.view = "text";
if (!Object.keys(payload.looks[0].attention).length) state.chosen.panel = "tokens";
const header = new Header();
state.render();
