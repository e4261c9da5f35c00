// The grid of one map: a row for each query token, a column for each key token, to hover or walk with arrow keys.

function showGrid(view) {
  const grid = drawGrid(view.rows, view.columns);
  const scroller = make("div", { class: "scroller", tabindex: "-1" }, grid.table);
  scroller.addEventListener("keydown", (event) => walk(view, grid, event));
  grid.cells.forEach((row, r) => row.forEach((cell, c) => {
    paint(cell, view.weights[r][c] / view.scale);
    cell.title = `${view.weights[r][c] ?? "unknown"}`;
  }));
  view.light = (here) => lightGrid(view, grid, here);
  if (showsDrops(view)) {
    const drops = drawDrops(view);
    grid.table.append(drops);
    grid.table.classList.toggle("numbered", [...drops.querySelectorAll(".painted")].some((cell) => cell.colSpan === 1));
  }
  return keepFitting(scroller, () => fitCells(scroller, grid.table, view.readout));
}

function showsDrops(view) {
  const { drops, regions } = view.trace;
  return view.kind === "grid" && view.columns.side === "source" && drops?.length > 0 && !regions && !leadsWithDrops(view.trace);
}

// Below each word of the source, how the log-probability of the output changes without it.
function drawDrops({ columns, trace: { drops } }) {
  const most = Math.max(...drops.map(({ drop }) => drop), 1e-12);
  const cells = [];
  for (const { start, end } of columns.tokens) {
    const found = start === end ? undefined : drops.find((each) => each.start <= start && start < each.end);
    const last = cells.at(-1);
    if (found && last?.found === found) last.cell.colSpan += 1;
    else cells.push({ found, cell: make("td", { class: "drop" }) });
  }
  for (const { found, cell } of cells.filter(({ found }) => found)) writeDrop(cell, found.drop, most);
  return make("tfoot", {}, make("tr", {}, make("th", { class: "without", scope: "row" }, "Without it"), ...cells.map(({ cell }) => cell)));
}

// How a log-probability or a probability changes: it goes down by the drop.
function writeChange(drop) {
  return writeSign(drop, Math.abs(drop).toFixed(Math.abs(drop) < 1 ? 2 : 1));
}

// The sign of a change before its size; what is rounded to nothing has none.
function writeSign(drop, size) {
  return `${Number(size) === 0 ? "" : drop > 0 ? "−" : "+"}${size}`;
}

function writeDrop(cell, drop, most) {
  cell.append(writeChange(drop));
  cell.title = formatDrop(drop);
  paint(cell, Math.max(drop, 0) / most, "warm_");
}

function drawGrid({ name: down, tokens: queries }, { name: across, tokens: keys, reversed }) {
  const upright = keys.every((t) => t.start === t.end || countLetters(t.text) <= 1);
  const table = make("table", { class: upright ? "grid upright" : "grid slanted", role: "grid", dir: reversed ? "rtl" : "ltr" });
  table.setAttribute("aria-label", "Attention weights: a row for each query token, a column for each key token");
  const sources = keys.map((token, column) => drawHeader(token, "source", -1, column));
  const targets = queries.map((token, row) => drawHeader(token, "target", row, -1));
  const cells = targets.map((_, row) => sources.map((_, column) => drawCell("td", "", row, column)));
  const rows = targets.map((target, row) => make("tr", {}, target, ...cells[row]));
  const corner = make("td", { class: "corner" }, make("span", { class: "name" }, `${across} ${reversed ? "←" : "→"}`), make("span", { class: "name" }, `${down} ↓`));
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
  cell.append(make("bdi", { class: markUnknown(long, token), dir: "auto" }, showText(token.text)));
  if (token.confidence !== null && token.confidence !== undefined) {
    cell.append(make("span", { class: "confidence", title: "probability of the token" }, formatShare(token.confidence)));
  }
  return cell;
}

function drawCell(tag, kind, row, column) {
  const cell = make(tag, { class: kind || null, tabindex: -1, role: tag === "td" ? "gridcell" : null });
  Object.assign(cell.dataset, { row, column });
  return cell;
}

const LABEL = 12; // the longest slanted label, in widths of an m; the style sheet cuts longer ones

// Slanted labels take no room in a table, so the room is measured with the fonts the reader has.
function measureLabels(table, tokens) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "14px system-ui, sans-serif";
  const widths = tokens.map((token) => Math.min(pen.measureText(showText(token.text)).width / 14, LABEL));
  table.style.setProperty("--rise", `${(Math.max(...widths) * 0.82 + 1.5).toFixed(2)}em`);
  table.style.setProperty("--overhang", `${(widths.at(-1) * 0.58 + 0.8).toFixed(2)}em`);
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function walk(view, grid, event) {
  stepCells(grid.at, event, (place) => describe(view, place), view.columns.reversed);
}

// Moves the focus to the next cell in the direction of an arrow key; `say` describes the place for those who listen.
function stepCells(at, event, say, reversed = false) {
  const from = event.target.closest("[data-row]");
  const step = STEPS[event.key];
  if (!from || !step) return;
  event.preventDefault();
  const { row, column } = readPlace(from);
  const [down, ahead] = [step[0], reversed ? -step[1] : step[1]];
  const to = row + down < 0 && column + ahead < 0 ? null : at(row + down, column + ahead);
  if (!to) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.setAttribute("aria-label", say(readPlace(to)).map((part) => part.textContent ?? part).join(""));
  to.focus();
}

function lightGrid(view, { sources, targets, cells }, here) {
  [...sources, ...targets].forEach(unpaint);
  const marked = (r, c) => here !== null && (r === here.row || c === here.column);
  cells.forEach((row, r) => row.forEach((cell, c) => cell.classList.toggle("here", marked(r, c))));
  if (here && here.row >= 0) {
    lightHeaders(sources, view.weights[here.row], view.scale);
    targets[here.row].classList.add("chosen");
  }
  if (here && here.column >= 0) {
    if (here.row < 0) lightHeaders(targets, view.weights.map((row) => row[here.column]), view.scale);
    sources[here.column].classList.add("chosen");
  }
}

function lightHeaders(headers, weights, scale) {
  headers.forEach((header, index) => paint(header, weights[index] / scale));
}
