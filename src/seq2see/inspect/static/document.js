// A classified document as Yang et al. 2016 draw it: the weight of each sentence beside it, those of its words inside it.

function drawDocument(trace) {
  const view = { trace, chars: Array.from(trace.source), by: "attention" };
  view.readout = make("p", { class: "readout", role: "status", "aria-live": "polite" });
  view.table = make("table", { class: "sentences" });
  showSentences(view);
  return make("section", { class: "trace document" },
    drawLabels(trace), drawDocumentControls(view), say(tellColours(trace)), view.table, view.readout, ...drawAgreements(trace));
}

function drawLabels(trace) {
  const rows = Object.entries(trace.probabilities).slice(0, 12).flatMap(([name, chance]) => {
    const bar = make("span", {});
    bar.style.width = `${100 * chance}%`;
    const kind = name === trace.label ? "best" : null;
    return [make("span", { class: kind, dir: "auto" }, name), make("span", { class: "track" }, bar),
      make("span", { class: kind }, `${(100 * chance).toFixed(1)} %`)];
  });
  return rows.length ? make("div", { class: "labels" }, ...rows) : make("p", {}, make("b", { dir: "auto" }, trace.label));
}

function hasFalls(trace) {
  return trace.sentences.some((s) => s.fall !== null || s.words.some((w) => w.fall !== null));
}

function drawDocumentControls(view) {
  const ways = ["attention", "leaving out"];
  const choose = (index) => { view.by = ways[index]; showSentences(view); };
  const bar = drawBar();
  return make("div", { class: "controls" },
    hasFalls(view.trace) ? makeSelect("Colours show", ways, choose) : null,
    make("span", { class: "legend" }, "0", bar, "the largest of the document"));
}

function tellColours(trace) {
  const whole = trace.sentences.some((s) => s.weight !== null) ? "The number beside a sentence is its share of the document (orange); " : "";
  return `${whole}${whole ? "the" : "The"} bluer a word, the more it counted. Point at one for its numbers.`;
}

// How strongly a word is painted: sqrt(weight of its sentence) x its own weight, or how much the label loses without it.
function measureStrength(view, sentence, word) {
  if (view.by !== "attention") return word.fall === null ? null : Math.max(word.fall, 0);
  return word.weight === null ? null : Math.sqrt(sentence.weight ?? 1) * word.weight;
}

function showSentences(view) {
  const { sentences } = view.trace;
  const strengths = sentences.flatMap((s) => s.words.map((w) => measureStrength(view, s, w) ?? 0));
  const key = view.by === "attention" ? "weight" : "fall";
  view.strongest = Math.max(...strengths, 1e-12);
  view.heaviest = Math.max(...sentences.map((s) => s[key] ?? 0), 1e-12);
  view.table.replaceChildren(make("tbody", {}, ...sentences.map((sentence) => drawSeenSentence(view, sentence, key))));
}

function drawSeenSentence(view, sentence, key) {
  const cells = [];
  if (view.trace.sentences.some((s) => s.weight !== null)) cells.push(drawSentenceNumber(view, sentence, "weight", key));
  if (view.trace.sentences.some((s) => s.fall !== null)) cells.push(drawSentenceNumber(view, sentence, "fall", key));
  return make("tr", {}, ...cells, make("td", { class: "body", dir: "auto" }, ...drawSeenWords(view, sentence)));
}

function drawSentenceNumber(view, sentence, name, key) {
  const value = sentence[name];
  const title = name === "weight" ? "attention to this sentence" : "what leaving it out does to the probability";
  const shown = value === null ? "" : name === "weight" ? value.toFixed(3) : formatFall(value);
  const cell = make("td", { class: `number ${name}`, title }, shown);
  if (name === key && value !== null) paint(cell, Math.max(value, 0) / view.heaviest, "warm_");
  return cell;
}

// What leaving something out does: the probability goes down by its fall.
function formatFall(fall) {
  return `${fall > 0 ? "−" : "+"}${Math.abs(fall).toFixed(3)}`;
}

// The raw text of a sentence, its words painted. Offsets count code points, as Python does.
function drawSeenWords(view, sentence) {
  const nodes = [];
  let last = sentence.start;
  for (const word of sentence.words) {
    if (word.start > last) nodes.push(view.chars.slice(last, word.start).join(""));
    const mark = word.start === word.end;
    const span = make("span", { class: mark ? "seen mark" : "seen", tabindex: 0 },
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
  if (word.weight !== null) parts.push(" has ", make("strong", {}, formatWeight(word.weight)), " of its sentence");
  if (word.weight !== null && sentence.weight !== null) {
    parts.push(", which has ", make("strong", {}, formatWeight(sentence.weight)), " of the document");
  }
  if (word.fall !== null) parts.push("; without it the probability changes by ", make("strong", {}, formatFall(word.fall)));
  view.readout.replaceChildren(...parts);
}

function drawAgreements(trace) {
  const sides = [["sentences", trace.sentence_agreement], ["words", trace.word_agreement]];
  return sides.filter(([, agreement]) => agreement).map(([name, a]) => say(
    `Attention against leaving out, ${a.count} ${name}: Kendall tau ${formatAgreement(a.kendall)}, ` +
    `Spearman ${formatAgreement(a.spearman)} (1: the same order, 0: none)`));
}

function formatAgreement(value) {
  return value === null ? "undefined" : value.toFixed(2);
}
