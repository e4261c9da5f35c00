// The table of held-out lines: input, output, reference, confidence, right or wrong; sorted, filtered, with a way inside.

const LINES_SHOWN = 50; // at first, and with each click on "Show more"
const BRIEF = 24; // letters of outputs, such as labels and dates, that leave their room to the inputs
const VERDICTS = [["right and wrong", () => true], ["right", (line) => line.correct], ["wrong", (line) => !line.correct]];
const COLUMNS = [ // heading, what is sorted by, and how a cell is filled
  { name: "line", key: (line) => line.number },
  { name: "input", key: (line) => line.source, fill: (line) => [line.image && drawThumbnail(line), drawClamped(line.source)] },
  { name: "output", key: (line) => line.output, fill: (line) => [drawClamped(line.output)] },
  { name: "reference", key: (line) => line.references.join("\n"), fill: (line) => line.references.map(drawClamped) },
  { name: "confidence", key: (line) => line.confidence, fill: (line) => [line.confidence === null ? "–" : `${(100 * line.confidence).toFixed(1)}%`] },
  { name: "right", key: (line) => Number(line.correct), fill: (line) => [drawVerdict(line.correct)] },
];

// Options: `canOpen` says which lines have something inside, `open` shows it, `note` is said above the table.
function drawLines(heldOut, { canOpen, open, note }) {
  const judged = heldOut.lines.some((line) => line.correct !== null);
  const table = { ...heldOut, canOpen, open, columns: judged ? COLUMNS : COLUMNS.slice(0, -1), sort: 0, down: false, word: "", verdict: 0, shown: LINES_SHOWN };
  table.body = make("tbody", {});
  table.heads = table.columns.map((column, index) => drawColumnHead(table, column, index));
  table.told = make("p", { class: "quiet small", role: "status", "aria-live": "polite" });
  table.more = make("button", { type: "button", class: "button more" }, "Show more");
  table.more.addEventListener("click", () => { table.shown += LINES_SHOWN; showLines(table); });
  showLines(table);
  const brief = heldOut.lines.every((line) => [line.output, ...line.references].every((text) => Array.from(text).length <= BRIEF));
  const grid = make("table", { class: brief ? "lines-table brief" : "lines-table" }, make("caption", { class: "unseen" }, `Lines of the ${heldOut.data}`),
    make("thead", {}, make("tr", {}, ...table.heads)), table.body);
  return make("section", { class: "held-out" }, make("p", { class: "quiet small" }, countLines(heldOut), note ? ` ${note}` : ""),
    drawFilters(table, judged), make("div", { class: "scroller sideways", tabindex: 0, role: "region", "aria-label": "Lines" }, grid), table.told, table.more);
}

function countLines({ data, count, lines }) {
  const kept = formatNumber(lines.length);
  return lines.length === count ? `All ${kept} lines of the ${data}, which the run was not trained on.`
    : `${kept} of the ${formatNumber(count)} lines of the ${data}, at equal distances; all of them would be too large to keep.`;
}

function drawFilters(table, judged) {
  const box = make("input", { type: "search", placeholder: "Find in input, output, reference", "aria-label": "Find lines", dir: "auto" });
  box.addEventListener("input", () => refilter(table, { word: box.value }));
  const right = table.lines.filter((line) => line.correct).length;
  const names = [`all ${formatNumber(table.lines.length)}`, `right (${formatNumber(right)})`, `wrong (${formatNumber(table.lines.length - right)})`];
  const verdicts = judged ? makeSelect("Show", names, (verdict) => refilter(table, { verdict })) : null;
  return make("div", { class: "controls" }, box, verdicts);
}

function refilter(table, changes) {
  Object.assign(table, changes, { shown: LINES_SHOWN });
  showLines(table);
}

function drawColumnHead(table, { name }, index, show = showLines) {
  const button = make("button", { type: "button", class: "sorter" }, name);
  button.addEventListener("click", () => {
    Object.assign(table, { sort: index, down: table.sort === index && !table.down });
    show(table);
  });
  return make("th", { scope: "col" }, button);
}

function showLines(table) {
  const found = sortLines(table, table.lines.filter((line) => VERDICTS[table.verdict][1](line) && mentions(line, table.word)));
  markSort(table);
  table.body.replaceChildren(...found.slice(0, table.shown).map((line) => drawLine(table, line)));
  table.told.textContent = found.length ? `${formatNumber(Math.min(table.shown, found.length))} of ${formatNumber(found.length)} lines shown` : "No line is like that.";
  table.more.hidden = found.length <= table.shown;
}

function markSort({ heads, sort, down }) {
  heads.forEach((head, index) => head.setAttribute("aria-sort", index !== sort ? "none" : down ? "descending" : "ascending"));
}

function mentions(line, word) {
  const wanted = word.trim().toLocaleLowerCase();
  return !wanted || [line.source, line.output, ...line.references].some((text) => text.toLocaleLowerCase().includes(wanted));
}

// In the order of a column; what has no value there comes last, upwards and downwards.
function sortLines({ columns, sort, down }, lines) {
  const { key } = columns[sort];
  const sign = down ? -1 : 1;
  return [...lines].sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left === null || right === null) return (left === null) - (right === null);
    return sign * (typeof left === "number" ? left - right : left.localeCompare(right, undefined, { numeric: true }));
  });
}

function drawLine(table, line) {
  const inside = table.canOpen(line);
  const number = inside ? make("button", { type: "button", class: "inside", "aria-label": `Look inside line ${line.number}` }, formatNumber(line.number)) : formatNumber(line.number);
  const cells = table.columns.map(({ name, fill: content }) => make("td", { class: `column-${name}` }, ...(content ? content(line) : [number])));
  const row = make("tr", { class: inside ? "opens" : null, "data-line": line.number }, ...cells);
  if (inside) row.addEventListener("click", () => String(getSelection()) || table.open(line));
  return row;
}

function drawClamped(text) {
  return make("div", { class: "clamped", dir: "auto" }, text);
}

function drawThumbnail(line) {
  return make("img", { class: "thumbnail", src: line.image, alt: "", loading: "lazy" });
}

function drawVerdict(correct) {
  return make("b", { class: correct ? "right" : "wrong", "aria-label": correct ? "right" : "wrong" }, correct ? "✓" : "✗");
}
