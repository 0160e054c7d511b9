"use strict";

/* A picture once per written token, with the attention of that token laid over it. */

const COMFORTABLE = 300; /* pixels of a picture on the screen, where there is room */

function pixelsOf(picture) {
  const letters = atob(picture.pixels);
  return Uint8Array.from({ length: letters.length }, (_, index) => letters.charCodeAt(index));
}

/* The weight of the patch that a pixel belongs to: patches are numbered column by column. */
function patchAt(picture, index) {
  const [y, x] = [Math.floor(index / picture.width), index % picture.width];
  const rows = Math.ceil(picture.height / picture.patch);
  return Math.floor(x / picture.patch) * rows + Math.floor(y / picture.patch);
}

function paintOver(canvas, picture, pixels, series, row) {
  paint(canvas, picture.height, picture.width, (index) => {
    const patch = patchAt(picture, index);
    const paper = [pixels[index], pixels[index], pixels[index]];
    return series.reduce((under, each) => mixed(under, each.colour, 0.7 * strength(each.grid.at(row, patch))), paper);
  });
}

/* What the last column, which is no patch, has: the attention to the picture as a whole. */
function captionOf(series, row) {
  const [{ grid }] = series;
  const whole = Math.max(...series.map((each) => each.grid.at(row, grid.columns - 1)));
  const token = named("bdi", grid.rowNames[row]);
  return make("figcaption", {}, token, whole >= 0.005 ? named("small", `whole picture ${whole.toFixed(2)}`) : null);
}

function pictureView(series, picture, width, pointer = null) {
  const [{ grid }] = series;
  const pixels = pixelsOf(picture);
  const scale = Math.max(1, Math.min(8, Math.floor(Math.min(width, COMFORTABLE) / picture.width)));
  const figures = grid.rowNames.map((name, row) => {
    const canvas = make("canvas", { role: "img", "aria-label": `where ${name} was seen` });
    paintOver(canvas, picture, pixels, series, row);
    setPixels(canvas, { width: Math.min(width, scale * picture.width) });
    return make("figure", pointer ? { role: "option" } : {}, canvas, captionOf(series, row));
  });
  if (pointer) pointable(figures, pointer, (row) => [row, null]);
  const light = (row) => figures.forEach((figure, number) => figure.classList.toggle("asked", number === row));
  const attributes = pointer ? { role: "listbox", "aria-label": "written tokens" } : {};
  return { element: make("div", { class: "pictures", ...attributes }, ...figures), light };
}
