"use strict";

/* Which heads are shown, each in its own colour. */

const MOST_HEADS = 6;

/* By preset: the heads to show as [layer, head] from 0; none stands for the mean of all. */
const PRESETS = {
  aligning: (look) => look.heads.indices.map(([layer, head]) => [layer - 1, head - 1]),
  sharpest: (look, weights) =>
    weights.entropy.slice(0, MOST_HEADS).map((heads, layer) => [layer, heads.indexOf(Math.min(...heads))]),
  mean: () => [],
};

const PRESET_TITLES = {
  aligning: ["aligning", "The heads that 'regard align' uses"],
  sharpest: ["sharpest", "The head with the lowest entropy in each layer"],
  mean: ["mean of all", "The mean of all heads of all layers"],
};

/* The heads of a kind of attention that are shown: a preset until the person picks some. A head keeps
   the slot, and so the colour, that it got. */
class HeadChoice {
  constructor(kind) {
    this.presets = kind === "cross" ? ["aligning", "sharpest", "mean"] : ["sharpest", "mean"];
    this.preset = this.presets[0];
    this.slots = [];
  }

  choose(preset) {
    this.preset = preset;
  }

  /* Slots with the name of a head, such as 0.2, or null. */
  fill(look, weights) {
    if (this.preset !== null) {
      const wanted = PRESETS[this.preset](look, weights).filter(([layer, head]) => head < weights.heads[layer]);
      this.slots = wanted.slice(0, MOST_HEADS).map((each) => each.join("."));
    }
    this.slots = this.slots.map((name) => {
      const [layer, head] = name === null ? [] : name.split(".").map(Number);
      return head < (weights.heads[layer] || 0) ? name : null;
    });
    return this.slots;
  }

  get full() {
    return this.slots.filter((name) => name !== null).length >= MOST_HEADS;
  }

  slot(layer, head) {
    return this.slots.indexOf(`${layer}.${head}`);
  }

  toggle(layer, head) {
    const at = this.slot(layer, head);
    if (at < 0 && this.full) return;
    this.preset = null;
    if (at >= 0) {
      this.slots[at] = null;
      return;
    }
    const free = this.slots.indexOf(null);
    this.slots[free < 0 ? this.slots.length : free] = `${layer}.${head}`;
  }

  /* [layer, head, colour] of each head shown. */
  shown() {
    return this.slots.flatMap((name, slot) => {
      return name === null ? [] : [[...name.split(".").map(Number), colour(`--head-${slot + 1}`)]];
    });
  }
}

/* Of one head there is nothing to choose. */
function isSingle(weights) {
  return weights.heads.length === 1 && weights.heads[0] === 1;
}

/* A button per head, by layer and head; the bar shows its entropy. */
function headButtons(weights, choice, changed) {
  const most = Math.log2(Math.max(2, weights.columns));
  const rows = weights.heads.map((count, layer) => {
    const buttons = Array.from({ length: count }, (_, head) => {
      const bits = weights.entropy[layer][head];
      const slot = choice.slot(layer, head);
      const bar = make("b", {});
      bar.style.width = `${((100 * bits) / most).toFixed(0)}%`;
      const button = make("button", { type: "button", "data-key": `head:${layer}.${head}`, "data-head": `${layer + 1}.${head + 1}`, "aria-pressed": String(slot >= 0) }, `${layer + 1}.${head + 1}`, make("i", {}, bar));
      button.title = `layer ${layer + 1}, head ${head + 1}: entropy ${bits.toFixed(2)} of at most ${most.toFixed(2)} bits`;
      button.setAttribute("aria-label", button.title);
      if (slot >= 0) button.style.background = `rgba(${colour(`--head-${slot + 1}`).join(",")},0.3)`;
      if (slot >= 0) button.style.boxShadow = `inset 0 -3px 0 rgb(${colour(`--head-${slot + 1}`).join(",")})`;
      if (slot < 0 && choice.full) button.setAttribute("aria-disabled", "true");
      button.addEventListener("click", () => {
        choice.toggle(layer, head);
        changed();
      });
      return button;
    });
    return make("div", { class: "layer" }, ...buttons);
  });
  return make("div", { class: "picker scroll bare" }, ...rows);
}

function headPicker(weights, choice, changed) {
  const presets = choice.presets.map((preset) => {
    const [text, title] = PRESET_TITLES[preset];
    const button = named("button", text, { type: "button", title, "data-key": `preset:${preset}`, "data-choice": "preset" });
    button.setAttribute("aria-pressed", String(choice.preset === preset));
    button.addEventListener("click", () => {
      choice.choose(preset);
      changed();
    });
    return button;
  });
  const title = `heads, as layer.head (pick up to ${MOST_HEADS}; bar: entropy)`;
  return make(
    "div",
    { class: "choice wide", role: "group", "aria-label": "heads" },
    named("span", title),
    make("div", { class: "row" }, ...presets),
    headButtons(weights, choice, changed),
  );
}

/* The series of the heads shown, or one for the mean of all. */
function seriesOf(weights, choice, gridOf) {
  const shown = choice.shown();
  if (!shown.length) return [{ name: "mean of all", grid: gridOf(weights.matrix(null, null)), colour: colour("--accent") }];
  return shown.map(([layer, head, parts]) => {
    return { name: `${layer + 1}.${head + 1}`, grid: gridOf(weights.matrix(layer, head)), colour: parts };
  });
}

/* The only head of a model needs no name. */
function legend(series, single) {
  const entries = series.map((each) => make("span", {}, swatch(each.colour), named("span", each.name)));
  return make("div", { class: "legend" }, ...(single ? [] : entries), scaleOf(series[0].colour));
}
