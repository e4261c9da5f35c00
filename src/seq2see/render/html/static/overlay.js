// A caption over its image: choose a word to see its weights, point at a cell to see the words with weight there.

function showTrace(trace, options = {}) {
  return trace.sentences ? drawDocument(trace) : drawTrace(trace, options);
}

// The maps that attend to the cells of an image.
function findOverlays(trace) {
  if (!trace.image || !trace.grid) return [];
  return trace.maps.filter((map) => aligns(map) && map.weights[0][0].length === trace.grid[0] * trace.grid[1]);
}

// The overlay chooses maps and heads for the other views, too.
function showImage(view) {
  const { trace, options } = view;
  const maps = findOverlays(trace);
  const chosen = maps.indexOf(trace.maps[view.map]);
  const told = ({ map, head }) => {
    Object.assign(view, { map: trace.maps.indexOf(maps[map]), head });
    options.onState?.({ kind: "image", name: maps[map].name, head, words: view.words, stretch: view.stretch });
  };
  return [drawOverlay(trace, maps, { map: chosen < 0 ? maps.length - 1 : chosen, head: chosen < 0 ? -1 : view.head, told })];
}

function drawOverlay(trace, maps, { map, head, told }) {
  const view = { trace, maps, map, head, told, word: 0, cell: -1, smooth: true, whole: false };
  const size = Math.max(320, ...[0, 1].map((axis) => trace.grid[axis] * 24));
  view.canvas = make("canvas", { width: size, height: size, tabindex: 0, role: "img" });
  view.image = new Image();
  view.image.addEventListener("load", () => showOverlay(view));
  view.image.src = trace.image;
  view.words = trace.target_tokens.map((token, index) => drawWord(view, token, index));
  view.slider = make("input", { type: "range", min: 0, max: view.words.length - 1, value: 0, "aria-label": "word" });
  view.slider.addEventListener("input", () => chooseWord(view, Number(view.slider.value)));
  view.readout = make("p", { class: "readout", role: "status", "aria-live": "polite" });
  pointAtCells(view);
  showOverlay(view);
  const several = view.words.length > 1; // a single label is no choice, and may be above with its probability
  return make("div", { class: "overlay" },
    several || !trace.probabilities ? make("p", { class: "caption", dir: "auto" }, ...view.words) : null,
    drawOverlayControls(view), drawStages(view), several ? view.slider : null, view.readout,
    leadsWithDrops(trace) ? "" : drawRegions(trace));
}

// The image as it is beside the veiled one: what is veiled could not be recognised otherwise.
function drawStages({ trace, canvas }) {
  const stage = (seen, name) => make("figure", { class: "stage" }, seen, make("figcaption", { class: "quiet" }, name));
  const original = make("img", { src: trace.image, alt: "what the model reads" });
  return make("div", { class: "stages" }, stage(original, "as the model reads it"), stage(canvas, "veiled where it attends little"));
}

// In the place of each region of the image, how the output's probability changes when the region is grey.
function drawRegions({ regions, drops, agreement }) {
  if (!regions) return "";
  const cells = drawDropCells(drops);
  const rows = Array.from({ length: regions[0] }, (_, row) => make("tr", {}, ...cells.slice(row * regions[1], (row + 1) * regions[1])));
  return make("table", { class: "regions" },
    make("caption", {}, `Occlusion: how the log-probability of the output (of a label, its probability) changes when a region is grey${tellAgreement(agreement)}`), ...rows);
}

// What there is to see of a model without attention: its image, and the probability drop of each part.
function drawBare(trace) {
  return [trace.image && make("img", { src: trace.image, alt: "", class: "bare" }), ...drawOcclusion(trace)].filter(Boolean);
}

// Whether no map attends to the parts that were left out, so that drops need a table of their own.
function hidesDrops(trace) {
  const seen = trace.maps.some((map) => readSide(map, "keys") === "source");
  return trace.drops?.length > 0 && (trace.regions ? findOverlays(trace).length === 0 : !seen);
}

function drawOcclusion(trace) {
  if (trace.regions || !trace.drops?.length) return [drawRegions(trace)].filter(Boolean);
  const words = trace.drops.map(({ start, end }) => make("th", { scope: "col" }, make("bdi", { dir: "auto" }, showText([...trace.source].slice(start, end).join("")))));
  return [make("div", { class: "scroller" }, make("table", { class: "regions" },
    make("caption", {}, "Leave-one-out: how the log-probability of the output (of a label, its probability) changes without each part"),
    make("tr", {}, ...words), make("tr", {}, ...drawDropCells(trace.drops))))];
}

function drawDropCells(drops) {
  const most = Math.max(...drops.map(({ drop }) => drop), 1e-12);
  return drops.map(({ drop }) => {
    const cell = make("td", { class: "drop" });
    writeDrop(cell, drop, most);
    return cell;
  });
}

function drawWord(view, token, index) {
  const sure = token.confidence ?? null;
  const button = make("button", { type: "button", class: "word" }, make("bdi", { dir: "auto" }, showText(token.text)),
    sure === null ? null : make("small", {}, formatShare(sure)));
  for (const event of ["mouseenter", "focus", "click"]) button.addEventListener(event, () => chooseWord(view, index));
  return button;
}

function drawOverlayControls(view) {
  const heads = make("span", { class: "heads" });
  const fillOverlayHeads = () => {
    const count = view.maps[view.map].weights.length;
    heads.replaceChildren(count === 1 ? "" : makeSelect("Heads",
      [nameMean(count), ...view.maps[view.map].weights.map((_, index) => `head ${index + 1}`)],
      (index) => { view.head = index - 1; view.told(view); showOverlay(view); }, view.head + 1));
  };
  fillOverlayHeads();
  const names = view.maps.map(shortenName);
  const map = names.length === 1 ? make("span", { class: "choice" }, names[0]) : makeSelect("Map", names, (index) => {
    Object.assign(view, { map: index, head: -1 });
    view.told(view);
    fillOverlayHeads();
    showOverlay(view);
  });
  if (names.length > 1) map.querySelector("select").value = view.map;
  return make("div", { class: "controls" }, map, heads,
    makeSelect("Shown as", ["smooth", "cells"], (index) => { view.smooth = index === 0; showOverlay(view); }),
    makeSelect("Clear is", ["the largest weight", "weight 1"], (index) => {
      view.whole = index === 1;
      showOverlay(view);
    }));
}

function chooseWord(view, index) {
  Object.assign(view, { word: index, cell: -1 });
  view.slider.value = index;
  showOverlay(view);
}

function pointAtCells(view) {
  const [rows, columns] = view.trace.grid;
  view.canvas.addEventListener("mousemove", (event) => {
    const box = view.canvas.getBoundingClientRect();
    const row = Math.min(rows - 1, Math.floor(((event.clientY - box.top) / box.height) * rows));
    const column = Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns));
    view.cell = Math.max(row, 0) * columns + Math.max(column, 0);
    showOverlay(view);
  });
  view.canvas.addEventListener("mouseleave", () => { view.cell = -1; showOverlay(view); });
  view.canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -columns, ArrowDown: columns, ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    view.cell = Math.min(Math.max((view.cell < 0 ? 0 : view.cell) + step, 0), rows * columns - 1);
    showOverlay(view);
  });
}

function showOverlay(view) {
  const map = view.maps[view.map];
  const weights = view.head < 0 ? averageHeads(map.weights) : map.weights[view.head];
  const row = weights[view.word];
  paintImage(view, row);
  const received = view.cell < 0 ? null : weights.map((each) => each[view.cell]);
  const most = received && Math.max(...received, 1e-9);
  view.words.forEach((button, index) => {
    button.classList.toggle("chosen", received === null && index === view.word);
    if (received) paint(button, received[index] / most); else unpaintWord(button, index === view.word);
  });
  view.readout.replaceChildren(...describeOverlay(view, row, received));
}

function unpaintWord(button, chosen) {
  button.classList.remove("painted");
  button.setAttribute("aria-pressed", chosen);
}

function describeOverlay(view, row, received) {
  const name = (cell) => view.trace.source_tokens[cell].text;
  if (received) {
    const most = received.indexOf(Math.max(...received));
    return [`${name(view.cell)}: largest weight from `, quoteWord(view, most), ` (`,
      make("strong", {}, formatWeight(received[most])), "); words are coloured by their attention weight here, from 0 to the largest"];
  }
  const most = row.indexOf(Math.max(...row));
  return ["largest weight ", make("strong", {}, formatWeight(row[most])), ` at ${name(most)}; veiled is weight 0, clear `,
    view.whole ? "1" : "that weight"];
}

function quoteWord(view, index) {
  return make("span", { class: "quoted" }, showText(view.trace.target_tokens[index].text));
}

// The image as clear as the weights: it is drawn in full, and a veil is laid over it cell by cell.
function paintVeil(canvas, image, weights, [rows, columns], { largest, smooth }) {
  const pen = canvas.getContext("2d");
  const shade = document.createElement("canvas");
  [shade.width, shade.height] = [columns, rows];
  const dots = shade.getContext("2d").createImageData(columns, rows);
  weights.forEach((weight, cell) => {
    dots.data.set([...settings.veil, Math.round(255 * (1 - settings.dim) * (1 - Math.min(weight / largest, 1)))], cell * 4);
  });
  shade.getContext("2d").putImageData(dots, 0, 0);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  pen.imageSmoothingEnabled = smooth;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(shade, 0, 0, canvas.width, canvas.height);
}

function paintImage(view, row) {
  const { canvas, image } = view;
  if (!image.complete) return;
  const [rows, columns] = view.trace.grid;
  paintVeil(canvas, image, row, view.trace.grid, { largest: view.whole ? 1 : Math.max(...row, 1e-9), smooth: view.smooth });
  const pen = canvas.getContext("2d");
  if (view.cell >= 0) {
    const [width, height] = [canvas.width / columns, canvas.height / rows];
    pen.strokeStyle = "#ffffff";
    pen.lineWidth = 2;
    pen.strokeRect((view.cell % columns) * width, Math.floor(view.cell / columns) * height, width, height);
  }
  canvas.setAttribute("aria-label", `${view.trace.source}, as seen for ${view.trace.target_tokens[view.word].text}`);
}
