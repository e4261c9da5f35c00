// The sides of a map as raw texts, whose tokens light up when something that belongs to them is pointed at.

const SIDES = { source: "Source", target: "Target", inputs: "So far", memory_rows: "Memory" };

function sideTokens(trace, side) {
  const start = { text: settings.start, start: 0, end: 0 };
  const plain = ({ text, start, end }) => ({ text, start, end });
  if (side === "source") return trace.source_tokens;
  if (side === "memory_rows") return trace.memory_rows;
  return side === "target" ? trace.target_tokens : [start, ...trace.target_tokens.slice(0, -1).map(plain)];
}

// The text that a side's tokens stand in; rows of a memory stand for none.
function sideText(trace, side) {
  return { source: trace.source, memory_rows: "" }[side] ?? trace.target;
}

function sideGroups(view, side) {
  return groupTokens(sideText(view.trace, side), sideTokens(view.trace, side), view.words);
}

function drawSide(view, side, place) {
  const text = sideText(view.trace, side);
  const groups = sideGroups(view, side);
  const tokens = groups.map((group) => group.token);
  return { name: SIDES[side], side, groups, tokens, reversed: isRightToLeft(text), ...drawText(text, tokens, place) };
}

function drawPlainTexts({ trace }) {
  const texts = [["Source", trace.source, trace.source_tokens.filter(({ unknown }) => unknown)], ["Target", trace.target, []]];
  return texts.map(([name, text, unknown]) => nameText(name, make("p", { class: "raw", dir: "auto" }, ...markSpans(text, unknown))));
}

// A text whose spans of unknown characters or words are marked. Offsets count code points, as Python does.
function markSpans(text, spans) {
  const chars = Array.from(text);
  const nodes = [];
  let last = 0;
  for (const { start, end } of spans) {
    nodes.push(chars.slice(last, start).join(""), make("span", { class: "unknown", title: settings.unknown }, chars.slice(start, end).join("")));
    last = end;
  }
  return [...nodes, chars.slice(last).join("")];
}

function markUnknown(kind, { unknown }) {
  return unknown ? `${kind} unknown`.trim() : kind || null;
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
    add(chars.slice(cut, cuts[i + 1]).join(""), covering, covering.some((index) => tokens[index].unknown) ? "piece unknown" : "piece");
  });
  return { node, segments };
}

function lightTexts(view, here) {
  [...view.columns.segments, ...view.rows.segments].forEach(({ span }) => unpaint(span));
  if (here && here.row >= 0) {
    lightSide(view.columns.segments, view.weights[here.row], view.scale);
    chooseSegments(view.rows.segments, here.row);
  }
  if (here && here.column >= 0) {
    if (here.row < 0) lightSide(view.rows.segments, view.weights.map((row) => row[here.column]), view.scale);
    chooseSegments(view.columns.segments, here.column);
  }
}

function lightSide(segments, weights, scale) {
  for (const { span, covering } of segments) {
    if (covering.length) paint(span, covering.reduce((sum, token) => sum + weights[token], 0) / scale);
  }
}

function chooseSegments(segments, token) {
  segments.filter(({ covering }) => covering.includes(token)).forEach(({ span }) => span.classList.add("chosen"));
}
