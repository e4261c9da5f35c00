// A classified document as Yang et al. 2016 draw it: the attention weight of each sentence beside it, those of its words inside it.

function drawDocument(trace) {
  const view = makeDocumentView(trace, "weight");
  const needed = leadsWithDrops(trace) ? makeDocumentView(trace, "drop") : null;
  const unknown = drawUnknown(trace.sentences.flatMap(({ words }) => words));
  return make("section", { class: "trace document" }, drawLabels(trace), unknown,
    ...(needed ? putDropsFirst(trace, needed.table, needed.readout) : []), drawDocumentControls(view, needed),
    view.told, view.table, view.readout, needed ? null : drawCaption(trace), ...drawAgreements(trace));
}

// The sentences, painted by `weight` or by `drop`.
function makeDocumentView(trace, by) {
  const view = { trace, chars: Array.from(trace.source), by };
  view.readout = make("p", { class: "readout", role: "status", "aria-live": "polite" });
  view.table = make("table", {});
  view.told = make("p", { class: "quiet small" });
  showSentences(view);
  return view;
}

const LABELS_SHOWN = 5; // of a run with more, the likeliest

// The likeliest labels with their probabilities. Sorted here, because an object puts names such as "7" before others.
function drawLabels(trace) {
  const chances = Object.entries(trace.probabilities).sort(([, one], [, other]) => other - one);
  const [shown, rest] = [chances.slice(0, LABELS_SHOWN), chances.slice(LABELS_SHOWN)];
  const sum = rest.reduce((all, [, chance]) => all + chance, 0);
  const others = rest.length ? say(`${rest.length} more ${rest.length > 1 ? "labels" : "label"}: ${(100 * sum).toFixed(1)} %`) : null;
  const rows = shown.flatMap(([name, chance]) => {
    const bar = make("span", {});
    bar.style.width = `${100 * chance}%`;
    const kind = name === trace.label ? "best" : null;
    return [make("span", { class: kind, dir: "auto" }, name), make("span", { class: "track" }, bar),
      make("span", { class: kind }, `${(100 * chance).toFixed(1)} %`)];
  });
  return rows.length ? make("div", { class: "labels" }, ...rows, others) : make("p", {}, make("b", { dir: "auto" }, trace.label));
}

function hasDrops(trace) {
  return trace.sentences.some((s) => s.drop !== null || s.words.some((w) => w.drop !== null));
}

function drawDocumentControls(view, needed) {
  const ways = ["attention weight", "probability drop"];
  const choose = (index) => { view.by = ["weight", "drop"][index]; showSentences(view); };
  return make("div", { class: "controls" },
    hasDrops(view.trace) && !needed ? makeSelect("Colours show", ways, choose) : null,
    make("span", { class: "legend" }, "0", drawBar(), "the largest of the document"));
}

// What the colours stand for, which are those of `measureStrength`.
function tellColours({ trace: { sentences }, by }) {
  const known = (name) => [sentences.some((s) => s[name] !== null), sentences.some((s) => s.words.some((w) => w[name] !== null))];
  const [whole, words] = known(by);
  const beside = by === "drop" ? "The orange behind a number says how much the probability of the label drops without its sentence."
    : "The number beside a sentence, in orange, is its attention weight in the document.";
  const root = whole ? ", times the root of the weight of its sentence" : "";
  const inside = by === "drop" ? "The stronger the blue of a word, the more the probability of the label drops without it."
    : `The stronger the blue of a word, the larger its attention weight${root}.`;
  return [whole ? beside : "", words ? inside : "", `${byHand.matches ? "Tap" : "Point at"} a word for its numbers.`].filter(Boolean).join(" ");
}

// How strongly a word is painted: sqrt(weight of its sentence) x its own weight, or the probability drop without it.
function measureStrength(view, sentence, word) {
  if (view.by === "drop") return word.drop === null ? null : Math.max(word.drop, 0);
  return word.weight === null ? null : Math.sqrt(sentence.weight ?? 1) * word.weight;
}

function showSentences(view) {
  const { sentences } = view.trace;
  view.table.className = `sentences by-${view.by}`;
  view.told.textContent = tellColours(view);
  const strengths = sentences.flatMap((s) => s.words.map((w) => measureStrength(view, s, w) ?? 0));
  view.strongest = Math.max(...strengths, 1e-12);
  view.heaviest = Math.max(...sentences.map((s) => s[view.by] ?? 0), 1e-12);
  const name = (way, told) => (sentences.some((s) => s[way] !== null) ? make("th", { scope: "col", class: "name" }, told) : null);
  const heads = [name("weight", "weight"), name("drop", "without it")].filter(Boolean);
  view.table.replaceChildren(heads.length ? make("thead", {}, make("tr", {}, ...heads, make("th", {}))) : "", make("tbody", {}, ...sentences.map((sentence) => drawAttendedSentence(view, sentence))));
}

function drawAttendedSentence(view, sentence) {
  const cells = [];
  if (view.trace.sentences.some((s) => s.weight !== null)) cells.push(drawSentenceNumber(view, sentence, "weight"));
  if (view.trace.sentences.some((s) => s.drop !== null)) cells.push(drawSentenceNumber(view, sentence, "drop"));
  return make("tr", {}, ...cells, make("td", { class: "body", dir: "auto" }, ...drawAttendedWords(view, sentence)));
}

function drawSentenceNumber(view, sentence, name) {
  const value = sentence[name];
  const title = name === "weight" ? "attention weight of this sentence" : "how the probability changes without this sentence";
  const shown = value === null ? "" : name === "weight" ? value.toFixed(3) : formatDrop(value);
  const cell = make("td", { class: `number ${name}`, title }, shown);
  if (name === view.by && value !== null) paint(cell, Math.max(value, 0) / view.heaviest, "warm_");
  return cell;
}

// How the probability changes when something is left out: it goes down by the drop.
function formatDrop(drop) {
  return writeSign(drop, Math.abs(drop).toFixed(3));
}

// The raw text of a sentence, its words painted. Offsets count code points, as Python does.
function drawAttendedWords(view, sentence) {
  const nodes = [];
  let last = sentence.start;
  for (const word of sentence.words) {
    if (word.start > last) nodes.push(view.chars.slice(last, word.start).join(""));
    const mark = word.start === word.end;
    const span = make("span", { class: markUnknown(mark ? "seen mark" : "seen", word), tabindex: 0 },
      mark ? showText(word.text) : view.chars.slice(word.start, word.end).join(""));
    const strength = measureStrength(view, sentence, word);
    if (strength !== null && strength > 0.01 * view.strongest) paint(span, strength / view.strongest);
    for (const event of ["mouseenter", "focus"]) span.addEventListener(event, () => readWord(view, sentence, word));
    nodes.push(span);
    last = Math.max(last, word.end);
  }
  return nodes;
}

function readWord(view, sentence, word) {
  const parts = [make("span", { class: "quoted", dir: "auto" }, showText(word.text))];
  if (word.weight !== null) parts.push(" has weight ", make("strong", {}, formatWeight(word.weight)), " in its sentence");
  if (word.weight !== null && sentence.weight !== null) {
    parts.push(", which has weight ", make("strong", {}, formatWeight(sentence.weight)), " in the document");
  }
  if (word.drop !== null) parts.push("; without it the probability changes by ", make("strong", {}, formatDrop(word.drop)));
  view.readout.replaceChildren(...parts);
}

function drawAgreements(trace) {
  const sides = [["sentences", trace.sentence_agreement], ["words", trace.word_agreement]];
  return sides.filter(([, agreement]) => agreement).map(([name, a]) => say(
    `Rank agreement of attention weights with probability drops, ${a.count} ${name}: Kendall tau ${formatAgreement(a.kendall)}, ` +
    `Spearman ${formatAgreement(a.spearman)} (1: the same order, 0: none)`));
}

function formatAgreement(value) {
  return value === null ? "undefined" : value.toFixed(2);
}
