// The report of a run, from the top: what it is, its scores, how it learned, what it wrote, where it failed.

const NO_MISTAKES = "No mistakes to show: none were recorded for this run.";
const waiting = []; // heatmaps are drawn when somebody opens them; printing opens all

function drawReport(report) {
  const learned = report.history.length ? [drawCurves(report.history)] : [say("No learning history was kept.")];
  const examples = report.examples.map((example, index) => drawExample(example, index === 0));
  const mistakes = report.mistakes.map((example) => drawExample(example, false));
  return [
    make("h1", { dir: "auto" }, report.title),
    make("div", { class: "cards" }, ...report.scores.map(drawCard)),
    ...(report.classes ? drawSection("Labels", drawClasses(report.classes)) : []),
    ...drawSection("How it learned", learned),
    ...drawSection("Examples", examples.length ? examples : [say("No examples were kept.")]),
    ...drawSection("Worst mistakes", mistakes.length ? mistakes : [say(NO_MISTAKES)]),
    ...(report.held_out?.lines.length ? drawSection("All lines", [drawReportLines(report)]) : []),
    ...drawSection("Facts", [drawFacts(report.facts)]),
  ];
}

// A line leads to its example, if the report has the attention behind it.
function drawReportLines({ examples, mistakes, held_out }) {
  const inside = new Set([...examples, ...mistakes].filter((example) => example.trace).map((example) => example.number));
  const open = ({ number }) => {
    const details = document.querySelector(`details[data-number="${number}"]`);
    details.open = true;
    details.querySelector("summary").focus({ preventScroll: true });
    details.scrollIntoView({ block: "start" });
  };
  const note = inside.size ? "Lines with a blue number have their attention in this file: click to look inside. The page of seq2see serve looks inside any line." : "";
  return drawLines(held_out, { canOpen: (line) => inside.has(line.number), open, note });
}

function drawSection(name, content) {
  return [make("h2", {}, name), ...content];
}

function say(sentence) {
  return make("p", { class: "quiet" }, sentence);
}

function drawCard(score) {
  return make("div", { class: "card" },
    make("span", { class: "name" }, score.name),
    make("span", { class: "value" }, formatNumber(score.value), make("small", {}, score.unit)),
    make("code", { class: "signature" }, ...breakBehind("|", score.signature)));
}

// A text that may go on in the next line behind a mark, and not in the middle of what the mark ends.
function breakBehind(mark, text) {
  return text.split(mark).flatMap((part, index) => (index ? [mark, make("wbr"), part] : [part]));
}

function drawFacts(facts) {
  const pairs = Object.entries(facts).flatMap(([name, value]) =>
    [make("dt", {}, name), make("dd", { dir: "auto" }, String(value))]);
  return pairs.length ? make("dl", { class: "facts" }, ...pairs) : say("Nothing is recorded.");
}

function drawExample(example, open) {
  const line = drawSummary(example);
  if (!example.trace) return make("div", { class: "example" }, line, say(settings.no_attention));
  const details = make("details", { class: "example", "data-number": example.number }, make("summary", {}, line));
  const draw = once(() => details.append(showTrace(example.trace)));
  details.addEventListener("toggle", () => details.open && draw());
  waiting.push(() => { draw(); details.open = true; });
  if (open) { draw(); details.open = true; }
  return details;
}

function once(act) {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}

function drawSummary(example) {
  const verdict = judge(example);
  const thumbnail = example.trace?.image ? make("img", { class: "thumbnail", src: example.trace.image, alt: "" }) : "";
  const rows = [["source", [thumbnail, ...markSpans(example.source, example.unknown)]], ["prediction", markEdits(example, 1, "del")]];
  if (example.edits) rows.push(["reference", markEdits(example, 2, "ins")]);
  if (example.further_references.length) rows.push(...[example.reference, ...example.further_references].map((text) => ["reference", [text]]));
  const lines = rows.map(([name, content]) => make("span", { class: "line" },
    make("span", { class: "name" }, name), make("span", { class: "text", dir: "auto" }, ...content)));
  const score = make("span", { class: "score" }, verdict, ` score ${formatNumber(example.score)}`);
  return make("div", { class: "summary" }, make("div", { class: "lines" }, ...lines), score);
}

// Whether an output is right; nothing where no single text is.
function judge(example) {
  if (example.reference === null || example.further_references.length) return null;
  return make("b", { class: example.edits ? "wrong" : "right" }, example.edits ? "✗" : "✓");
}

// The texts with what differs marked: `side` 1 is the prediction, 2 the reference.
function markEdits(example, side, tag) {
  if (!example.edits) return [example.target];
  const parts = example.edits.filter((edit) => edit[side]);
  return parts.map((edit) => (edit[0] === "equal" ? edit[side] : make(tag, {}, edit[side])));
}
