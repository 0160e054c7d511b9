/* Files that are chosen, or dropped anywhere on the page. */

class Files {
  /* `fields` gives the languages and the key. */
  constructor(element, settings, fields) {
    element.hidden = !settings.filesTranslation;
    this.element = element;
    this.fields = fields;
    this.status = byId("file-status");
    this.asking = new AbortController();
    const input = byId("file");
    const formats = settings.supportedFilesFormat ?? [];
    input.accept = formats.join(",");
    byId("formats").textContent = formats.join(" ");
    input.addEventListener("change", () => {
      if (input.files.length) this.send(input.files[0]);
      input.value = ""; // so that the same file can be chosen again
    });
    for (const name of ["dragenter", "dragover"]) window.addEventListener(name, (event) => this.hover(event, true));
    window.addEventListener("dragleave", (event) => event.relatedTarget || this.hover(event, false));
    window.addEventListener("drop", (event) => {
      if (this.hover(event, false) && !element.hidden) this.send(event.dataTransfer.files[0]);
    });
  }

  /* Whether a file is dragged; the browser would open it. Dragged text goes where it is dropped. */
  hover(event, over) {
    const isFile = event.dataTransfer.types.includes("Files");
    if (isFile) event.preventDefault();
    this.element.querySelector(".drop").classList.toggle("over", isFile && over);
    return isFile;
  }

  async send(file) {
    this.asking.abort();
    const { signal } = (this.asking = new AbortController());
    const body = new FormData();
    for (const [name, value] of Object.entries(this.fields())) body.append(name, value);
    body.append("file", file);
    this.status.className = "";
    this.status.textContent = `Translating ${file.name} …`;
    try {
      const { translatedFileUrl } = await (await ask("translate_file", { method: "POST", body, signal })).json();
      const name = new URL(translatedFileUrl, location.href).pathname.split("/").pop();
      const link = make("a", `Download the translation of ${file.name}`, { href: `download_file/${name}`, download: "" });
      this.status.replaceChildren(link);
    } catch (failure) {
      if (signal.aborted) return;
      this.status.className = "wrong";
      this.status.textContent = failure instanceof Refused ? failure.message : "The file could not be translated.";
    }
  }
}
