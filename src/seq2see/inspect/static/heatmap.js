// The alignment of one trace: raw texts, choices, a grid to hover or walk with the arrow keys, a readout.

function drawTrace(trace) {
  const why = trace.maps.length === 0 ? settings.no_attention
    : trace.source_tokens.length && trace.target_tokens.length ? null : settings.no_tokens;
  if (why) return make("section", { class: "trace" }, ...drawPlainTexts(trace), make("p", { class: "quiet" }, why));
  const view = { trace, map: findLast(trace.maps, aligns), head: -1, here: null };
  view.texts = make("div", {});
  view.scroller = make("div", { class: "scroller", tabindex: "-1" });
  view.readout = make("p", { class: "readout", role: "status", "aria-live": "polite" });
  const controls = make("div", { class: "controls" });
  const root = make("section", { class: "trace" }, view.texts, controls, view.scroller, view.readout);
  fillControls(view, controls);
  showMap(view);
  listen(view, root);
  return root;
}

function aligns(map) {
  return readSide(map, "queries") === "target" && readSide(map, "keys") === "source";
}

// A map between target and source, unless it says otherwise.
function readSide(map, way) {
  return map[way] ?? (way === "queries" ? "target" : "source");
}

function findLast(maps, fits) {
  const found = maps.map(fits).lastIndexOf(true);
  return found < 0 ? maps.length - 1 : found;
}

// The texts and the grid of the chosen map; a map of other sides has another grid.
function showMap(view) {
  const map = view.trace.maps[view.map];
  const [queries, keys] = [readSide(map, "queries"), readSide(map, "keys")];
  if (view.queries !== queries || view.keys !== keys) {
    Object.assign(view, { queries, keys, here: null });
    view.rows = drawSide(view.trace, queries, (token) => ({ row: token, column: -1 }));
    view.columns = drawSide(view.trace, keys, (token) => ({ row: -1, column: token }));
    view.grid = drawGrid(view.rows.tokens, view.columns.tokens);
    view.texts.replaceChildren(nameText(view.columns.name, view.columns.node), nameText(view.rows.name, view.rows.node));
    view.scroller.replaceChildren(view.grid.table);
  }
  showWeights(view);
  light(view, view.here);
}

const SIDES = { source: "Source", target: "Target", inputs: "So far", rows: "Memory" };

function drawSide(trace, side, place) {
  const start = { text: settings.start, start: 0, end: 0 };
  const plain = ({ text, start, end }) => ({ text, start, end });
  const inputs = [start, ...trace.target_tokens.slice(0, -1).map(plain)];
  const tokens = { source: trace.source_tokens, target: trace.target_tokens, inputs, rows: trace.rows }[side];
  const text = { source: trace.source, rows: "" }[side] ?? trace.target; // rows stand for no text
  return { name: SIDES[side], tokens, ...drawText(text, tokens, place) };
}

function drawPlainTexts(trace) {
  const texts = [["Source", trace.source], ["Target", trace.target]];
  return texts.map(([name, text]) => nameText(name, make("p", { class: "raw", dir: "auto" }, text)));
}

function nameText(name, node) {
  return make("div", { class: "named" }, make("span", { class: "name" }, name), node);
}

// Cuts the raw text where tokens begin and end. Offsets count code points, as Python does; JavaScript's do not.
function drawText(text, tokens, place) {
  const chars = Array.from(text);
  const cuts = [...new Set([0, chars.length, ...tokens.flatMap((token) => [token.start, token.end])])];
  cuts.sort((a, b) => a - b);
  const node = make("p", { class: "raw", dir: "auto" });
  const segments = [];
  const add = (content, covering, kind) => {
    const span = make("span", { class: kind, dir: kind === "mark" ? "auto" : null }, content);
    if (covering.length) Object.assign(span.dataset, place(covering[0]));
    segments.push({ span, covering });
    node.append(span);
  };
  const addMarks = (position) => tokens.forEach((token, index) => {
    if (token.start === token.end && token.start === position) add(showText(token.text), [index], "mark");
  });
  cuts.forEach((cut, i) => {
    addMarks(cut);
    if (i + 1 === cuts.length) return;
    const covering = tokens.flatMap((t, index) => (t.start <= cut && t.end >= cuts[i + 1] ? [index] : []));
    add(chars.slice(cut, cuts[i + 1]).join(""), covering, "piece");
  });
  return { node, segments };
}

function drawGrid(queries, keys) {
  const upright = keys.every((t) => t.start === t.end || countLetters(t.text) <= 1);
  const table = make("table", { class: upright ? "grid upright" : "grid slanted", role: "grid" });
  table.setAttribute("aria-label", "Attention weights: a row for each token that looks, a column for each looked at");
  const sources = keys.map((token, column) => drawHeader(token, "source", -1, column));
  const targets = queries.map((token, row) => drawHeader(token, "target", row, -1));
  const cells = targets.map((_, row) => sources.map((_, column) => drawCell("td", "", row, column)));
  const rows = targets.map((target, row) => make("tr", {}, target, ...cells[row]));
  const corner = make("td", { class: "corner" });
  table.append(make("thead", {}, make("tr", {}, corner, ...sources)), make("tbody", {}, ...rows));
  measureLabels(table, keys);
  targets[0].tabIndex = 0;
  return { table, sources, targets, cells, at: (row, column) =>
    row < 0 ? sources[column] : column < 0 ? targets[row] : cells[row]?.[column] };
}

function drawHeader(token, kind, row, column) {
  const cell = drawCell("th", kind, row, column);
  cell.scope = kind === "source" ? "col" : "row";
  const long = countLetters(showText(token.text)) > 1 ? "label long" : "label";
  cell.append(make("bdi", { class: long, dir: "auto" }, showText(token.text)));
  if (token.confidence !== null && token.confidence !== undefined) {
    cell.append(make("span", { class: "confidence", title: "confidence" }, formatShare(token.confidence)));
  }
  return cell;
}

function drawCell(tag, kind, row, column) {
  const cell = make(tag, { class: kind || null, tabindex: -1, role: tag === "td" ? "gridcell" : null });
  Object.assign(cell.dataset, { row, column });
  return cell;
}

function formatShare(confidence) {
  return `${Math.round(confidence * 100)}%`;
}

// Slanted labels take no room in a table, so the room is measured with the fonts the reader has.
function measureLabels(table, tokens) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "14px system-ui, sans-serif";
  const widths = tokens.map((token) => Math.min(pen.measureText(showText(token.text)).width, 170));
  const longest = Math.max(...widths);
  table.style.setProperty("--rise", `${Math.ceil(longest * 0.82 + 24)}px`);
  table.style.setProperty("--overhang", `${Math.ceil(widths.at(-1) * 0.58 + 12)}px`);
}

function fillControls(view, controls) {
  const heads = make("span", { class: "heads" });
  const names = view.trace.maps.map((map) => map.name);
  if (names.length > 1) {
    const choice = makeSelect("Map", names, (index) => {
      Object.assign(view, { map: index, head: -1 });
      fillHeads(view, heads);
      showMap(view);
    });
    choice.querySelector("select").value = view.map;
    controls.append(choice);
  } else controls.append(make("span", { class: "choice" }, names[0]));
  fillHeads(view, heads);
  controls.append(heads, drawLegend());
}

function fillHeads(view, heads) {
  const map = view.trace.maps[view.map];
  const count = map.weights.length;
  if (count === 1) return heads.replaceChildren(map.averaged > 1 ? nameMean(map.averaged) : "");
  const names = [nameMean(count), ...map.weights.map((_, index) => `head ${index + 1}`)];
  heads.replaceChildren(makeSelect("Heads", names, (index) => {
    view.head = index - 1;
    showWeights(view);
    light(view, view.here);
  }));
}

function nameMean(count) {
  return `mean of ${count} heads`;
}

function drawLegend() {
  const bar = make("span", { class: "bar painted" });
  for (const theme of ["light", "dark"]) {
    bar.style.setProperty(`--${theme}`, `linear-gradient(to right, ${settings[theme].join(", ")})`);
  }
  return make("span", { class: "legend" }, "weight 0", bar, "1");
}

function showWeights(view) {
  const heads = view.trace.maps[view.map].weights;
  view.weights = view.head < 0 ? averageHeads(heads) : heads[view.head];
  view.grid.cells.forEach((row, r) => row.forEach((cell, c) => {
    paint(cell, view.weights[r][c]);
    cell.title = `${view.weights[r][c] ?? "unknown"}`;
  }));
}

function averageHeads(heads) {
  if (heads.length === 1) return heads[0];
  const mean = (r, c) => heads.reduce((sum, head) => sum + head[r][c], 0) / heads.length;
  return heads[0].map((row, r) => row.map((_, c) => mean(r, c)));
}

function listen(view, root) {
  const find = (event) => event.target.closest?.("[data-row]");
  root.addEventListener("mouseover", (event) => find(event) && light(view, readPlace(find(event))));
  root.addEventListener("mouseleave", () => light(view, null));
  root.addEventListener("focusin", (event) => find(event) && light(view, readPlace(find(event))));
  view.scroller.addEventListener("keydown", (event) => walk(view, event));
}

function readPlace(node) {
  return { row: Number(node.dataset.row), column: Number(node.dataset.column) };
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function walk(view, event) {
  const from = event.target.closest("[data-row]");
  const step = STEPS[event.key];
  if (!from || !step) return;
  event.preventDefault();
  const { row, column } = readPlace(from);
  const to = row + step[0] < 0 && column + step[1] < 0 ? null : view.grid.at(row + step[0], column + step[1]);
  if (!to) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.setAttribute("aria-label", describe(view, readPlace(to)).map((part) => part.textContent ?? part).join(""));
  to.focus();
}

// Lights what belongs to a place: a target's sources, a source's targets, or one weight and its row and column.
function light(view, here) {
  const { sources, targets, cells } = view.grid;
  view.here = here;
  [...sources, ...targets, ...segmentNodes(view)].forEach(unpaint);
  const marked = (r, c) => here !== null && (r === here.row || c === here.column);
  cells.forEach((row, r) => row.forEach((cell, c) => cell.classList.toggle("here", marked(r, c))));
  if (here && here.row >= 0) {
    lightSide(sources, view.columns.segments, view.weights[here.row]);
    choose(targets, view.rows.segments, here.row);
  }
  if (here && here.column >= 0) {
    if (here.row < 0) lightSide(targets, view.rows.segments, view.weights.map((row) => row[here.column]));
    choose(sources, view.columns.segments, here.column);
  }
  view.readout.replaceChildren(...describe(view, here));
}

function segmentNodes(view) {
  return [...view.columns.segments, ...view.rows.segments].map((segment) => segment.span);
}

function lightSide(headers, segments, weights) {
  headers.forEach((header, index) => paint(header, weights[index]));
  for (const { span, covering } of segments) {
    if (covering.length) paint(span, covering.reduce((sum, token) => sum + weights[token], 0));
  }
}

function choose(headers, segments, token) {
  headers[token].classList.add("chosen");
  segments.filter(({ covering }) => covering.includes(token)).forEach(({ span }) => span.classList.add("chosen"));
}

function describe(view, here) {
  if (!here) return ["Point at a token or a cell, or walk the grid with the arrow keys."];
  const [sources, targets] = [view.columns.tokens, view.rows.tokens];
  const [row, column] = [here.row, here.column];
  if (row >= 0 && column >= 0) {
    const weight = make("strong", {}, formatWeight(view.weights[row][column]));
    const [target, source] = [quote(targets[row]), quote(sources[column])];
    return [target, ` (${row + 1}) looks at `, source, ` (${column + 1}) with weight `, weight];
  }
  const [token, others, verb] = row >= 0
    ? [targets[row], sources, " looks at "]
    : [sources[column], targets, " is looked at by "];
  const weights = row >= 0 ? view.weights[row] : view.weights.map((line) => line[column]);
  const sure = token.confidence == null ? "" : `, ${formatShare(token.confidence)} sure,`;
  return [quote(token), sure + verb, ...listStrongest(others, weights)];
}

function listStrongest(tokens, weights) {
  const order = weights.map((_, index) => index).sort((a, b) => weights[b] - weights[a]).slice(0, 3);
  return order.flatMap((index, i) => [i ? ", " : "", quote(tokens[index]), ` ${formatWeight(weights[index])}`]);
}

function quote(token) {
  return make("bdi", { class: "quoted" }, showText(token.text));
}
