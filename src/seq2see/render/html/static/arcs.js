// Arcs: queries on one side, keys on the other, and a line for each weight that can be seen.

const FAINT = 0.02; // weights below are not drawn, and the figure says so
const SPAN = 220; // from side to side; the style sheet says how many pixels that is, and a token's height

function showArcs(view) {
  const { rows, columns, weights, scale } = view;
  const count = Math.max(rows.tokens.length, columns.tokens.length);
  const svg = makeSvg("svg", { class: "links", viewBox: `0 0 ${SPAN} ${count}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const lines = [];
  weights.forEach((row, r) => row.forEach((weight, c) => {
    if (weight === null || weight / scale < FAINT) return;
    const [from, to] = [r + 0.5, c + 0.5];
    const path = `M0 ${from}C${SPAN / 2} ${from} ${SPAN / 2} ${to} ${SPAN} ${to}`;
    const line = makeSvg("path", { class: "link", d: path, "data-from": r, "data-to": c });
    line.style.setProperty("--strength", weight / scale);
    lines.push({ line, r, c });
    svg.append(line);
  }));
  const sides = [drawTokens(view, rows, "row"), drawTokens(view, columns, "column")];
  view.light = (here) => lightArcs(view, lines, sides, here);
  const note = make("p", { class: "quiet small" }, `A line is as strong as its weight; weights under ${FAINT * scale < 0.02 ? formatWeight(FAINT * scale) : FAINT} are left out.`);
  const arcs = make("div", { class: "arcs" }, sides[0].node, svg, sides[1].node);
  arcs.style.setProperty("--count", count);
  return [...keepFitting(make("div", { class: "scroller" }, arcs), (scroller) => fitArcs(scroller, arcs, count, view.readout)), note];
}

function drawTokens(view, side, way) {
  const items = side.tokens.map((token, index) => {
    const place = way === "row" ? { row: index, column: -1 } : { row: -1, column: index };
    const sure = token.confidence == null ? null : make("span", { class: "confidence" }, formatShare(token.confidence));
    const item = make("button", { type: "button", class: "token" }, make("bdi", { class: markUnknown("", token), dir: "auto" }, showText(token.text)), sure);
    Object.assign(item.dataset, place);
    item.setAttribute("aria-label", describe(view, place).map((part) => part.textContent ?? part).join(""));
    return item;
  });
  const list = make("ol", { class: `side ${way}` }, ...items.map((item) => make("li", {}, item)));
  return { node: make("div", {}, make("h3", {}, way === "row" ? `${side.name} (queries)` : `${side.name} (keys)`), list), items };
}

function lightArcs(view, lines, sides, here) {
  const touched = ({ r, c }) => !here || r === here.row || c === here.column;
  for (const each of lines) each.line.classList.toggle("off", !touched(each));
  sides.forEach(({ items }) => items.forEach(unpaint));
  if (!here) return;
  if (here.row >= 0) {
    sides[0].items[here.row].classList.add("chosen");
    lightHeaders(sides[1].items, view.weights[here.row], view.scale);
  } else {
    sides[1].items[here.column].classList.add("chosen");
    lightHeaders(sides[0].items, view.weights.map((row) => row[here.column]), view.scale);
  }
}
