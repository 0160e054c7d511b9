/* The page: what is typed is translated, and what is edited is continued. */

const PAUSE = 250;
const SETTLED = 1200;
const CHOICES = "regard-languages";
const KEY = "regard-key";

class Page {
  constructor(languages, settings) {
    this.languages = languages;
    this.settings = settings;
    this.names = Object.fromEntries(languages.map((each) => [each.code, each.name]));
    this.links = new Links(byId("source"), byId("target"), byId("readout"));
    this.history = new History(byId("history"), this.names, (entry) => this.open(entry));
    this.files = new Files(byId("files"), settings, () => ({ ...this.pair(), ...this.key() }));
    this.answer = null; // what was found without edits
    this.shown = { text: "", sentences: [] };
    this.detected = null;
    this.timer = null;
    this.settling = null;
    this.asking = new AbortController();
    byId("key-form").hidden = !settings.apiKeys;
    byId("key").value = recall(KEY, "", "sessionStorage");
    this.fillSources();
    this.listen();
    this.count();
    document.body.dataset.ready = "true";
  }

  get source() {
    return this.links.source;
  }

  get target() {
    return this.links.target;
  }

  pair() {
    return { source: byId("from").value, target: byId("to").value };
  }

  key() {
    const key = byId("key").value.trim();
    return key ? { api_key: key } : {};
  }

  listen() {
    byId("from").addEventListener("change", () => this.choose(byId("to").value));
    byId("to").addEventListener("change", () => this.choose(byId("to").value));
    byId("swap").addEventListener("click", () => this.swap());
    byId("key-form").addEventListener("submit", (event) => event.preventDefault());
    byId("key").addEventListener("input", () => {
      keep(KEY, byId("key").value, "sessionStorage");
      this.schedule();
    });
    this.source.area.addEventListener("input", () => this.schedule());
    this.target.area.addEventListener("input", () => this.edit());
    byId("clear").addEventListener("click", () => this.type(""));
    byId("undo").addEventListener("click", () => this.restore());
    byId("copy").addEventListener("click", () => this.copy());
    byId("look").addEventListener("click", () => this.look());
    byId("forget").addEventListener("click", () => clearTimeout(this.settling)); // or it comes back
  }

  /* Languages */

  fillSources() {
    const able = this.languages.filter((each) => this.targets(each.code).length);
    const options = [["auto", "Automatic"], ...able.map((each) => [each.code, each.name])];
    const kept = recall(CHOICES, {});
    const first = able.find((each) => this.targets(each.code).includes(this.settings.language.target.code)) ?? able[0];
    fill(byId("from"), options, [kept.source, first.code]);
    this.choose(kept.target ?? this.settings.language.target.code);
  }

  targets(source) {
    const found = this.languages.filter((each) => source === "auto" || each.code === source);
    return [...new Set(found.flatMap((each) => each.targets.filter((target) => target !== each.code)))];
  }

  choose(target) {
    const options = this.targets(byId("from").value).map((code) => [code, this.names[code] ?? code]);
    fill(byId("to"), options, [target]);
    const { source } = this.pair();
    if (source === "auto") this.source.area.removeAttribute("lang");
    else this.source.area.lang = source;
    this.target.area.lang = this.pair().target;
    keep(CHOICES, this.pair());
    this.detected = null;
    this.update();
    this.schedule(0);
  }

  /* What the text is translated from, if it is known. */
  spoken() {
    const { source } = this.pair();
    return source === "auto" ? this.detected?.language : source;
  }

  update() {
    const { source, target } = this.pair();
    const back = this.spoken() && this.targets(target).includes(this.spoken());
    byId("swap").setAttribute("aria-disabled", String(!back));
    const detected = source === "auto" && this.detected;
    byId("detected").textContent = detected ? `detected: ${this.names[detected.language] ?? detected.language}` : "";
    const has = Boolean(this.target.text);
    for (const name of ["copy", "look"]) byId(name).disabled = !has;
    const several = this.shown.sentences.length > 1;
    byId("look").title = `${several ? "Of the sentence you last pointed at; opens" : "Opens"} in a new tab`;
    this.target.area.readOnly = !this.source.text.trim();
    byId("undo").hidden = byId("edited").hidden = !this.edited();
    byId("hint").hidden = !has || this.edited();
  }

  swap() {
    const { target } = this.pair();
    const source = this.spoken();
    if (byId("swap").getAttribute("aria-disabled") === "true") {
      const name = this.names[target] ?? target;
      this.say(source ? `No run of this server translates ${name} to ${this.names[source] ?? source}.` : "Type some text first, so that its language is known.", true);
      return;
    }
    const text = this.shown.text || this.source.text;
    byId("from").value = target;
    this.source.text = text;
    this.choose(source);
  }

  /* Translating */

  type(text) {
    this.source.text = text;
    this.schedule(0);
    this.source.area.focus();
  }

  schedule(pause = PAUSE) {
    this.stop();
    this.count();
    this.target.kept = 0;
    const text = this.source.text;
    const limit = this.settings.charLimit;
    const isLong = characters(text) > limit;
    if (isLong || !text.trim()) {
      this.answer = null;
      this.show({ text: "", sentences: [], alternatives: [] });
      this.say(isLong ? `This text is longer than ${limit.toLocaleString("en")} characters: shorten it.` : "", isLong);
      return;
    }
    document.body.classList.add("stale");
    this.timer = setTimeout(() => this.run((signal) => this.translateAll(text, signal)), pause);
  }

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.settling);
    this.asking.abort();
    this.links.sentences = []; // until the words are known again
  }

  /* Do some work, whose requests end as soon as something newer is asked. */
  async run(work) {
    const asking = (this.asking = new AbortController());
    document.body.classList.add("stale");
    const waiting = setTimeout(() => this.say("Translating …"), 700);
    try {
      await work(asking.signal);
      if (!asking.signal.aborted) {
        this.say("");
        this.settle();
      }
    } catch (failure) {
      if (asking.signal.aborted) return;
      this.say(failure instanceof Refused ? failure.message : "Something went wrong on this page: reload it.", true);
    } finally {
      clearTimeout(waiting);
      if (!asking.signal.aborted) document.body.classList.remove("stale");
    }
  }

  asked(q, more = {}) {
    return { q, ...this.pair(), ...this.key(), ...more };
  }

  async translateAll(text, signal) {
    const part = (found) => {
      if (!signal.aborted) this.target.text = found.text;
    };
    const found = await translate(this.asked(text), signal, part);
    if (signal.aborted) return;
    this.detected = found.detected ?? null;
    this.answer = found;
    this.show(found);
  }

  show(found) {
    this.shown = found;
    this.target.text = found.text;
    this.links.sentences = found.sentences;
    this.links.sentence = Math.min(this.links.sentence, Math.max(0, found.sentences.length - 1));
    this.update();
    this.drawAlternatives();
  }

  /* Editing the target */

  edited() {
    return Boolean(this.answer) && this.target.text !== this.answer.text;
  }

  /* Everything up to the caret is kept, and its sentence is continued from there; an edit across
     sentences continues the whole text. */
  edit() {
    const { area, text } = this.target;
    const caret = area.selectionEnd;
    const before = this.shown;
    const [start, end] = changed(before.text, text);
    const within = before.sentences.find(({ target }) => target[0] <= start && end <= target[1]);
    const whole = { source: [0, this.source.text.length], target: [0, before.text.length] };
    const place = within ?? whole;
    this.stop();
    this.target.kept = caret;
    this.target.draw();
    const prefix = text.slice(place.target[0], caret);
    this.update();
    const work = (signal) => this.continue(place, prefix, before, signal);
    document.body.classList.add("stale");
    this.timer = setTimeout(() => this.run(work), PAUSE);
  }

  async continue(place, prefix, before, signal) {
    const q = this.source.text.slice(...place.source);
    const found = spelled(await translate(this.asked(q, { prefix }), signal), prefix);
    if (signal.aborted) return;
    const result = replaced(before, place, found);
    const caret = place.target[0] + prefix.length;
    this.target.kept = caret;
    this.show(result);
    if (document.activeElement === this.target.area) this.target.area.setSelectionRange(caret, caret);
  }

  restore() {
    this.stop();
    this.target.kept = 0;
    document.body.classList.remove("stale");
    this.say("");
    this.show(this.answer);
    this.target.area.focus();
  }

  /* Alternatives */

  drawAlternatives() {
    const { text } = this.shown;
    const choices = [...new Set([this.answer?.text, ...(this.shown.alternatives ?? [])])].filter((each) => each && each !== text);
    byId("alternatives").hidden = !choices.length;
    byId("alternatives").querySelector("ol").replaceChildren(...choices.map((choice) => {
      const button = make("button", "", { type: "button", lang: this.pair().target, dir: "auto" });
      button.append(...compared(text, choice));
      button.addEventListener("click", () => this.take(choice));
      const item = make("li", "");
      item.append(button);
      return item;
    }));
  }

  /* Show this text as it is; its links come from a translation that begins with it. */
  take(choice) {
    this.stop();
    const others = [...new Set([this.shown.text, ...(this.shown.alternatives ?? [])])].filter((each) => each !== choice);
    this.target.kept = 0;
    this.show({ text: choice, alternatives: others, sentences: [] });
    this.target.area.focus();
    this.run(async (signal) => {
      const found = await translate(this.asked(this.source.text, { prefix: choice }), signal);
      if (signal.aborted) return;
      const most = choice.length;
      const sentences = found.sentences.filter((each) => each.target[0] < most);
      for (const each of sentences) each.target[1] = Math.min(each.target[1], most);
      this.show({ text: choice, alternatives: others, sentences });
    });
  }

  /* Looking, copying, telling */

  look() {
    const sentence = this.shown.sentences[this.links.sentence];
    const q = sentence ? this.source.text.slice(...sentence.source) : this.source.text.trim();
    const translation = sentence ? this.target.text.slice(...sentence.target) : this.target.text.trim();
    const fields = { q, ...this.pair(), ...this.key(), ...(this.edited() || !sentence ? { translation } : {}) };
    const form = byId("look-form");
    form.replaceChildren(...Object.entries(fields).map(([name, value]) => {
      const area = make("textarea", "", { name });
      area.value = value;
      return area;
    }));
    form.submit();
    form.replaceChildren();
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.target.text);
    } catch (failure) {
      this.target.area.select();
      if (!document.execCommand("copy")) return;
    }
    this.say("Copied.");
  }

  count() {
    const limit = this.settings.charLimit.toLocaleString("en");
    byId("count").textContent = `${characters(this.source.text).toLocaleString("en")} of ${limit} characters`;
    byId("clear").disabled = !this.source.text;
  }

  say(text, wrong = false) {
    byId("status").textContent = text;
    byId("status").className = wrong ? "wrong" : "";
    if (wrong) document.body.classList.remove("stale");
  }

  /* Once nothing has changed for a while, it is kept, and read out by screen readers. */
  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      const { text } = this.shown;
      const long = text.length > 300;
      byId("spoken").textContent = long ? `The translation is ready: ${this.shown.sentences.length} sentences.` : `Translation: ${text}`;
      const source = this.spoken() ?? "auto";
      this.history.add({ source, target: this.pair().target, text: this.source.text, translation: text });
    }, SETTLED);
  }

  open(entry) {
    byId("from").value = entry.source;
    if (byId("from").selectedIndex < 0) byId("from").selectedIndex = 0;
    this.source.text = entry.text;
    this.choose(entry.target);
    this.source.area.focus();
  }
}

/* Options of a select, and which of the wishes is chosen: the first that is there. */
function fill(select, options, wishes) {
  select.replaceChildren(...options.map(([value, text]) => make("option", text, { value })));
  const wish = wishes.find((value) => options.some((each) => each[0] === value));
  if (wish !== undefined) select.value = wish;
}

/* Which part of a text is different in another one. */
function changed(old, text) {
  const most = Math.min(old.length, text.length);
  let start = 0;
  while (start < most && old[start] === text[start]) start += 1;
  let end = 0;
  while (end < most - start && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1;
  return [start, old.length - end];
}

/* A choice, with marks at the words that it does not share with the text, and where it lacks some. */
function compared(text, choice) {
  const parts = choice.split(/(\s+)/); // words and the spaces between them
  const { isNew, gaps } = differences(text.split(/\s+/), parts.filter((part, index) => index % 2 === 0));
  const found = [];
  parts.forEach((part, index) => {
    const marked = isNew[Math.floor(index / 2)] && (index % 2 === 0 || isNew[(index + 1) / 2]);
    if (index % 2 === 0 && gaps[index / 2]) found.push({ gap: true });
    const last = found.at(-1);
    if (last?.marked === marked) last.text += part;
    else found.push({ marked, text: part });
  });
  if (gaps.at(-1)) found.push({ gap: true });
  const drawn = (each) => (each.marked ? make("mark", each.text) : each.text);
  return found.map((each) => (each.gap ? make("mark", "", { class: "gap" }) : drawn(each)));
}

/* Which words are outside a longest common subsequence with the old ones, and before which of the
   others, or at the end, old words are missing. */
function differences(old, words) {
  const common = Array.from({ length: old.length + 1 }, () => new Array(words.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = words.length - 1; j >= 0; j -= 1) {
      common[i][j] = old[i] === words[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  let i = 0;
  const isNew = [];
  const gaps = [];
  words.forEach((word, j) => {
    const start = i;
    while (i < old.length && old[i] !== word && common[i + 1][j] >= common[i][j + 1]) i += 1;
    isNew.push(i === old.length || old[i] !== word);
    gaps.push(i > start && !isNew[j] && !isNew[j - 1]);
    if (!isNew[j]) i += 1;
  });
  return { isNew, gaps: [...gaps, i < old.length && !isNew.at(-1)] };
}

/* What was found, beginning with exactly what was typed, spaces included. */
function spelled(found, prefix) {
  const known = prefix.trim();
  const begins = found.text.startsWith(prefix) || !found.text.trimStart().startsWith(known);
  if (begins) return found;
  const skipped = found.text.indexOf(known) + known.length;
  const rest = /\s$/.test(prefix) ? found.text.slice(skipped).trimStart() : found.text.slice(skipped);
  const by = prefix.length + rest.length - found.text.length;
  const start = prefix.length - prefix.trimStart().length;
  const move = (offset) => (offset >= skipped ? offset + by : offset + start);
  const sentences = found.sentences.map((each) => ({
    source: each.source,
    target: each.target.map(move),
    links: each.links.map(([a, b, c, d]) => [a, b, move(c), move(d)]),
  }));
  return { text: prefix + rest, alternatives: found.alternatives, sentences };
}

/* A translation with another one in some place of it. */
function replaced(before, place, found) {
  const [start, end] = place.target;
  const put = (text) => before.text.slice(0, start) + text + before.text.slice(end);
  const moved = (each, read, written) => ({
    source: each.source.map((offset) => offset + read),
    target: each.target.map((offset) => offset + written),
    links: each.links.map(([a, b, c, d]) => [a + read, b + read, c + written, d + written]),
  });
  const by = found.text.length - (end - start);
  const earlier = before.sentences.filter((each) => each.target[1] <= start);
  const later = before.sentences.filter((each) => each.target[0] >= end).map((each) => moved(each, 0, by));
  const inner = found.sentences.map((each) => moved(each, place.source[0], start));
  return { text: put(found.text), sentences: [...earlier, ...inner, ...later], alternatives: found.alternatives.map(put) };
}

async function begin() {
  try {
    const [languages, settings] = await Promise.all(["languages", "frontend/settings"].map(async (path) => (await ask(path)).json()));
    window.page = new Page(languages, settings);
  } catch (failure) {
    byId("status").className = "wrong";
    byId("status").textContent = failure instanceof Refused ? failure.message : "This page could not start: reload it.";
  }
}

begin();
