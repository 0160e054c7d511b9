/* What was translated, kept in this browser and nowhere else. */

const KEPT = 50;
const HISTORY = "regard-history";

/* A browser may refuse to keep anything: the page works without. */
function recall(name, missing, place = "localStorage") {
  try {
    return JSON.parse(window[place].getItem(name)) ?? missing;
  } catch (failure) {
    return missing;
  }
}

function keep(name, value, place = "localStorage") {
  try {
    window[place].setItem(name, JSON.stringify(value));
  } catch (failure) {
    return;
  }
}

class History {
  /* `names` are those of languages; `open` shows an entry again. */
  constructor(element, names, open) {
    this.names = names;
    this.list = element.querySelector("ol");
    this.button = element.querySelector("button");
    this.open = open;
    this.button.addEventListener("click", () => {
      keep(HISTORY, []);
      this.draw();
      element.querySelector("summary").focus();
    });
    this.draw();
  }

  /* The newest first; a text that was typed further takes the place of its beginning. */
  add(entry) {
    const same = (old) => old.source === entry.source && old.target === entry.target;
    const [last, ...others] = recall(HISTORY, []);
    const grows = last && same(last) && (entry.text.startsWith(last.text) || last.text.startsWith(entry.text));
    const older = (grows || !last ? others : [last, ...others]).filter((old) => !(same(old) && old.text === entry.text));
    keep(HISTORY, [entry, ...older].slice(0, KEPT));
    this.draw();
  }

  draw() {
    const entries = recall(HISTORY, []);
    this.button.hidden = !entries.length;
    this.list.replaceChildren(...entries.map((entry) => {
      const button = make("button", "", { type: "button" });
      const [from, to] = [entry.source, entry.target].map((code) => this.names[code] ?? code);
      const languages = make("small", `${from} → ${to}`);
      const text = make("span", entry.text, entry.source === "auto" ? {} : { lang: entry.source });
      button.append(languages, text, make("span", entry.translation, { class: "translated", lang: entry.target }));
      button.addEventListener("click", () => this.open(entry));
      const item = make("li", "");
      item.append(button);
      return item;
    }));
  }
}
