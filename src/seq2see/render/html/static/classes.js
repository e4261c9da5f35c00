// The scores of each label as a table to sort, and which label was taken for which as a matrix to walk through.

const CLASSES_SHOWN = 20; // at first; a click shows all
const ABOUT_SCORES = "Precision: the share of the inputs with this output that are right. Recall: the share of the inputs of this label that got it. F1: their harmonic mean. All out of 100; support and predicted count inputs.";
const SCORE_COLUMNS = [
  { name: "label", key: (each) => each.label, fill: (each) => [make("bdi", {}, each.label)] },
  { name: "precision", key: (each) => each.precision, fill: (each) => [each.precision.toFixed(2)] },
  { name: "recall", key: (each) => each.recall, fill: (each) => [each.recall.toFixed(2)] },
  { name: "F1", key: (each) => each.f1, fill: (each) => [drawShareBar(each.f1 / 100), each.f1.toFixed(2)] },
  { name: "support", key: (each) => each.support, fill: (each) => [formatNumber(each.support)] },
  { name: "predicted", key: (each) => each.predicted, fill: (each) => [formatNumber(each.predicted)] },
];
const BY_F1 = 3;

function drawClasses(scores) {
  return [drawClassTable(scores), ...(scores.confusion ? [make("h3", {}, "Confusion matrix"), drawConfusion(scores.confusion)] : [])];
}

function drawClassTable({ classes, means }) {
  const table = { classes, means, columns: SCORE_COLUMNS, sort: BY_F1, down: false, shown: CLASSES_SHOWN, body: make("tbody", {}) };
  table.heads = SCORE_COLUMNS.map((column, index) => drawColumnHead(table, column, index, showClasses));
  table.more = make("button", { type: "button", class: "button more" }, `Show all ${formatNumber(classes.length)} labels`);
  table.more.addEventListener("click", () => { table.shown = classes.length; showClasses(table); });
  showClasses(table);
  const foot = make("tfoot", {}, ...means.map((mean) => drawClass(table, mean)));
  const grid = make("table", { class: "classes" }, make("caption", { class: "unseen" }, "Scores of each label"), make("thead", {}, make("tr", {}, ...table.heads)), table.body, foot);
  return make("div", {}, make("p", { class: "quiet small" }, ABOUT_SCORES),
    make("div", { class: "scroller sideways", tabindex: 0, role: "region", "aria-label": "Scores of each label" }, grid), table.more);
}

function showClasses(table) {
  markSort(table);
  const sorted = sortLines(table, table.classes);
  table.body.replaceChildren(...sorted.slice(0, table.shown).map((each) => drawClass(table, each)));
  table.more.hidden = table.shown >= table.classes.length;
}

function drawClass({ columns }, each) {
  const [name, ...numbers] = columns.map(({ fill: content }) => content(each));
  return make("tr", {}, make("th", { scope: "row" }, ...name), ...numbers.map((number) => make("td", {}, ...number)));
}

function drawShareBar(share) {
  const part = make("span", {});
  part.style.width = `${100 * share}%`;
  return make("span", { class: "track", "aria-hidden": "true" }, part);
}

const SHARES_SHOWN = 12; // labels up to which a cell has room for a count and its share
const COUNTS_SHOWN = 30; // labels up to which it has room for a count

// Each row is a right label, each column the label that was chosen; the colour is the share of the row.
function drawConfusion({ labels: names, counts }) {
  const totals = counts.map((row) => row.reduce((sum, count) => sum + count, 0));
  const rows = names.map((_, row) => row).filter((row) => totals[row]);
  const share = (row, column) => counts[row][column] / totals[row];
  const most = Math.max(...rows.flatMap((row) => names.map((_, column) => (row === column ? 0 : share(row, column)))));
  const matrix = { names, counts, totals, rows, share, most: most || 1 };
  const size = names.length <= SHARES_SHOWN ? "large" : names.length <= COUNTS_SHOWN ? "medium" : "small";
  const readout = make("p", { class: "readout", role: "status", "aria-live": "polite" }, "Point at a cell, or walk with the arrow keys.");
  const grid = drawMatrix(matrix, size);
  const scroller = make("div", { class: "scroller", tabindex: "-1" }, grid.table);
  const say = (event) => {
    const cell = event.target.closest("[data-row]");
    if (cell) readout.replaceChildren(...describeConfusion(matrix, readPlace(cell)));
  };
  ["mouseover", "focusin", "click"].forEach((kind) => scroller.addEventListener(kind, say));
  scroller.addEventListener("keydown", (event) => stepCells(grid.at, event, (place) => describeConfusion(matrix, place)));
  return make("div", { class: "confusion" }, drawConfusionLegend(most), scroller, readout);
}

function drawMatrix({ names, counts, rows, share, most }, size) {
  const table = make("table", { class: `grid slanted ${size}`, role: "grid", "aria-label": "Confusion matrix: a row for each right label, a column for each chosen one" });
  const heads = names.map((name, column) => drawLabelHead(name, "source", -1, column));
  const sides = rows.map((row, place) => drawLabelHead(names[row], "target", place, -1));
  const cells = rows.map((row, place) => names.map((_, column) => {
    const cell = drawCell("td", "", place, column);
    const [count, part] = [counts[row][column], share(row, column)];
    if (row === column || count) paint(cell, row === column ? part : part / most, row === column ? "" : "warm_");
    if (count && size !== "small") cell.append(formatNumber(count));
    if (count && size === "large") cell.append(make("small", {}, formatShare(part)));
    return cell;
  }));
  const corner = make("td", { class: "corner" }, make("span", { class: "name" }, "taken for →"), make("span", { class: "name" }, "right label ↓"));
  table.append(make("thead", {}, make("tr", {}, corner, ...heads)), make("tbody", {}, ...sides.map((side, place) => make("tr", {}, side, ...cells[place]))));
  measureLabels(table, names.map((text) => ({ text })));
  if (cells.length) cells[0][0].tabIndex = 0;
  return { table, at: (row, column) => (row < 0 ? heads[column] : column < 0 ? sides[row] : cells[row]?.[column]) };
}

function drawLabelHead(name, kind, row, column) {
  const cell = drawCell("th", kind, row, column);
  cell.scope = kind === "source" ? "col" : "row";
  cell.append(make("bdi", { class: "label", dir: "auto", title: name }, name));
  return cell;
}

function drawConfusionLegend(most) {
  const right = ["right: 0%", drawBar(), "100%"];
  const wrong = most ? ["wrong: 0%", drawBar("warm_"), formatShare(most)] : ["no mistakes"];
  return make("p", { class: "controls" }, "Share of the inputs of a label (row):",
    make("span", { class: "legend" }, ...right), make("span", { class: "legend" }, ...wrong));
}

function describeConfusion({ names, counts, totals, rows, share }, { row, column }) {
  const quoted = (name) => make("bdi", { class: "quoted" }, name);
  const inputs = (count) => `${formatNumber(count)} ${count === 1 ? "input" : "inputs"}`;
  if (row < 0) {
    const chosen = rows.reduce((sum, each) => sum + counts[each][column], 0);
    return [quoted(names[column]), ` was chosen for ${inputs(chosen)}`];
  }
  const [right, total] = [rows[row], totals[rows[row]]];
  if (column < 0) return [quoted(names[right]), ` is right for ${inputs(total)}`];
  const part = make("strong", {}, `${formatNumber(counts[right][column])} of ${formatNumber(total)} (${formatShare(share(right, column))})`);
  return right === column ? [quoted(names[right]), " is right and was chosen: ", part]
    : [quoted(names[right]), " was taken for ", quoted(names[column]), ": ", part];
}
