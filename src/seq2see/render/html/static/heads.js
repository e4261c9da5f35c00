// All heads at once: a row for each layer, a column for each head, each a small heatmap that can be enlarged.

const THUMB = 96; // pixels of the longer side
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function showHeads(view) {
  view.say = () => [byHand.matches ? "Tap a head to enlarge it." : "Point at a head to see its largest weights; click to enlarge it."];
  const families = groupMaps(view.trace.maps);
  return families.map(({ name, maps }) => make("section", { class: "family" }, make("h3", {}, name), drawHeads(view, name, maps)));
}

// Maps of one kind: which side attends to which, in which half of the model.
function groupMaps(maps) {
  const families = new Map();
  maps.forEach((map, index) => {
    const sides = [readSide(map, "queries"), readSide(map, "keys")];
    const name = nameFamily(...sides);
    families.set(name, [...(families.get(name) ?? []), { map, index }]);
  });
  return [...families].map(([name, found]) => ({ name, maps: found }));
}

function nameFamily(queries, keys) {
  if (keys === "memory_rows") return `The ${queries === "source" ? "source" : "target"} attends to the memory`;
  if (queries === "source") return "Self-attention of the source";
  return keys === "source" ? "Cross-attention: the target attends to the source" : "Self-attention of the target";
}

function drawHeads(view, family, maps) {
  const most = Math.max(...maps.map(({ map }) => map.weights.length));
  const names = Array.from({ length: most }, (_, head) => make("th", { scope: "col" }, most > 1 ? `head ${head + 1}` : "weights"));
  const mean = most > 1 ? make("th", { scope: "col" }, "mean") : null;
  const rows = maps.map(({ map, index }) => {
    const cells = map.weights.map((weights, head) => make("td", {}, drawHead(view, index, head, weights)));
    const gap = Array.from({ length: most - cells.length }, () => make("td", {}));
    const average = most > 1 ? make("td", { class: "mean" }, drawHead(view, index, -1, averageHeads(map.weights))) : null;
    return make("tr", {}, make("th", { scope: "row" }, ...breakName(shortenName(map))), ...cells, ...gap, average);
  });
  const table = make("table", { class: "heads", "aria-label": family },
    make("thead", {}, make("tr", {}, make("td", {}), ...names, mean)), make("tbody", {}, ...rows));
  return make("div", { class: "scroller" }, table);
}

// A name may break behind its dots.
function breakName(name) {
  return name.split(/(?<=\.)/).flatMap((part) => [part, make("wbr")]);
}

function drawHead(view, map, head, weights) {
  const each = view.trace.maps[map];
  const [rows, columns] = ["queries", "keys"].map((way) => readSide(each, way)).map((side) => sideGroups(view, side));
  const merged = mergeWeights(weights, rows, columns);
  const canvas = drawThumb(merged, isRightToLeft(sideText(view.trace, readSide(each, "keys"))));
  const name = head < 0 ? nameMean(each.weights.length) : each.weights.length > 1 ? `head ${head + 1}` : "";
  const button = make("button", { type: "button", class: "head", "data-map": map, "data-head": head }, canvas);
  const label = [each.name, name].filter(Boolean).join(", ");
  button.setAttribute("aria-label", `Enlarge ${label}`);
  const tell = () => view.readout.replaceChildren(label, ": ", ...describePeaks(merged, rows, columns));
  button.addEventListener("mouseenter", tell);
  button.addEventListener("focus", tell);
  button.addEventListener("click", () => choose(view, { kind: "grid", map, head: each.weights.length > 1 ? head : -1 }));
  return button;
}

// How sharp a head is, and its largest weight.
function describePeaks(weights, rows, columns) {
  const peaks = weights.map((row) => Math.max(...row));
  const mean = peaks.reduce((sum, peak) => sum + peak, 0) / peaks.length;
  const row = peaks.indexOf(Math.max(...peaks));
  const column = weights[row].indexOf(peaks[row]);
  return [`largest weight of a row ${formatWeight(mean)} on average, of all `, make("strong", {}, formatWeight(peaks[row])),
    " from ", quote(rows[row].token), " to ", quote(columns[column].token)];
}

function drawThumb(weights, reversed) {
  const [height, width] = [weights.length, weights[0]?.length ?? 1];
  const canvas = make("canvas", { width, height, "aria-hidden": "true" });
  const size = THUMB / Math.max(width, height);
  Object.assign(canvas.style, { width: `${Math.max(width * size, 12)}px`, height: `${Math.max(height * size, 12)}px` });
  const draw = () => {
    const pen = canvas.getContext("2d");
    const stops = settings[dark.matches ? "dark" : "light"];
    weights.forEach((row, y) => row.forEach((weight, x) => {
      pen.fillStyle = `rgb(${mixColour(weight, stops).join(" ")})`;
      pen.fillRect(reversed ? width - 1 - x : x, y, 1, 1);
    }));
  };
  draw();
  canvas.redraw = draw;
  return canvas;
}

dark.addEventListener("change", () => document.querySelectorAll("canvas").forEach((canvas) => canvas.redraw?.()));
