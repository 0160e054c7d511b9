"use strict";

/* Editing on a served page: what is typed is sent to the model, and the page follows. */

const PAUSE = 200;
const RETRY = 500;
const HOW = [
  ["nothing", "found by search"],
  ["beginning", "must begin with"],
  ["whole", "must be"],
];

function field(label, name, rows, changed) {
  const text = make("textarea", { id: name, name, rows, maxlength: payload.editable.longest, spellcheck: "false", dir: "auto" });
  text.addEventListener("input", changed);
  return { text, element: make("div", { class: "field" }, named("label", label, { for: name }), text) };
}

class Editor {
  constructor(replace) {
    this.replace = replace;
    this.how = "nothing";
    this.running = false;
    this.wanted = false;
    this.timer = null;
    const changed = () => this.schedule(PAUSE);
    const { readsSource, annotations } = payload.editable;
    this.source = field(readsSource ? "source" : "text to continue", "source", 2, changed);
    this.annotations = annotations.map(([name, description, values]) => {
      return { name, values, ...field(description, name, 1, changed) };
    });
    this.forced = field("target", "forced", 2, changed);
    this.status = make("p", { class: "status", role: "status" });
    const fields = [this.source, ...this.annotations].map((each) => each.element);
    this.buttons = this.howButtons(readsSource);
    const target = make("div", {}, make("div", { class: "how" }, this.buttons, this.status), this.forced.element);
    this.element = make("form", { class: "editor" }, make("div", {}, ...fields), target);
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.force("nothing");
  }

  howButtons(readsSource) {
    const group = make("div", { role: "group", "aria-label": "target" });
    for (const [value, text] of HOW.filter((each) => readsSource || each[0] !== "beginning")) {
      const button = named("button", text, { type: "button", "data-how": value });
      button.addEventListener("click", () => {
        if (value === "whole" && this.how === "nothing") this.forced.text.value = this.look.translation;
        if (value === "beginning" && this.how === "nothing") this.forced.text.value = this.look.translation.split(" ")[0];
        this.force(value);
        this.schedule(0);
        if (value !== "nothing") this.forced.text.focus();
      });
      group.append(button);
    }
    return make("div", { class: "choice" }, named("span", "the target"), group);
  }

  force(how) {
    this.how = how;
    this.forced.element.hidden = how === "nothing";
    for (const button of this.buttons.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.how === how));
    }
  }

  /* Another sentence of the page. */
  open(look, number) {
    this.look = look;
    this.number = number;
    this.source.text.value = look.text;
    this.forced.text.value = look.given ? look.translation : look.prefix;
    for (const each of this.annotations) each.text.value = each.values[number];
    this.force(look.given ? "whole" : look.prefix ? "beginning" : "nothing");
  }

  schedule(pause) {
    this.wanted = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), pause);
  }

  /* One request at a time; what was typed meanwhile is sent after it. */
  async send() {
    if (this.running || !this.wanted) return;
    this.running = true;
    this.wanted = false;
    const waiting = setTimeout(() => this.say("computing …", "busy"), 300);
    try {
      const { number } = this;
      const sent = { text: this.source.text.value, how: this.how, forced: this.forced.text.value };
      for (const each of this.annotations) sent[each.name] = each.values[this.number] = each.text.value;
      const body = JSON.stringify(sent);
      const answer = await fetch("/look", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      clearTimeout(waiting);
      if (answer.status === 503) {
        if (!this.wanted) this.schedule(RETRY);
      } else if (answer.ok) {
        const look = await answer.json();
        if (number !== this.number) return;
        this.say("", "");
        this.look = look;
        await this.replace(look);
      } else {
        this.say(await answer.text(), "wrong");
      }
    } catch (error) {
      this.say("The server has stopped; this is its last answer.", "wrong");
    } finally {
      clearTimeout(waiting);
      this.running = false;
      if (this.wanted) this.schedule(0);
    }
  }

  say(text, kind) {
    this.status.textContent = text;
    this.status.className = `status ${kind}`;
    document.body.classList.toggle("stale", kind !== "");
  }
}
