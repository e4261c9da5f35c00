// Several runs side by side: a table, scores by source length, and the attention of each in the same sentences.

function drawComparison(sheet) {
  document.getElementById("seq2see").classList.add("wide");
  const notes = sheet.notes.map((note) => make("p", { class: "note", dir: "auto" }, note));
  const examples = sheet.examples.map((outputs, index) => drawSentence(sheet.runs, outputs, index === 0));
  return [
    make("h1", { dir: "auto" }, sheet.title),
    drawSheet(sheet),
    ...notes,
    ...(sheet.lengths ? drawSection("By source length", [drawLengths(sheet)]) : []),
    ...drawSection("Attention", examples.length ? examples : [say("No examples were kept.")]),
    ...drawSection("How it was measured", [drawFacts(sheet.facts)]),
  ];
}

function drawTable(heads, rows) {
  const names = heads.map((head) => make("th", { scope: "col", dir: "auto" }, head));
  const lines = rows.map(([head, ...cells]) =>
    make("tr", {}, make("th", { scope: "row" }, ...head), ...cells.map((cell) => make("td", {}, ...cell))));
  const table = make("table", { class: "sheet" }, make("thead", {}, make("tr", {}, ...names)), make("tbody", {}, ...lines));
  return make("div", { class: "scroller sideways", tabindex: 0, role: "region", "aria-label": "Table" }, table);
}

function drawSheet(sheet) {
  const small = (text) => (text ? make("small", {}, text) : null);
  const rows = sheet.rows.map((row) =>
    [[row.name, small(row.about)], ...row.cells.map((cell) => [cell.text, small(markNote(cell.note))])]);
  return drawTable(["", ...sheet.runs], rows);
}

// A difference that is no luck stands out.
function markNote(note) {
  const word = /, (better|worse)$/.exec(note);
  if (!word) return note;
  const kind = word[1] === "better" ? "right" : "wrong";
  return make("span", {}, note.slice(0, word.index + 2), make("b", { class: kind }, word[1]));
}

function drawLengths(sheet) {
  const { scores } = sheet.lengths;
  const holder = make("div", { class: "lengths" });
  const show = (index) => holder.replaceChildren(drawScores(sheet, scores[index]), drawBuckets(sheet, scores[index]));
  if (!scores.length) return say("There is nothing to sort by length.");
  show(0);
  return make("div", {}, make("div", { class: "controls" }, makeSelect("Score", scores.map((each) => each.name), show)), holder);
}

function drawScores(sheet, score) {
  const { unit, counted, buckets } = sheet.lengths;
  const series = sheet.runs.map((name, run) => {
    return { name, kind: "", tone: run, points: buckets.map((each, i) => [each.mean, score.runs[run][i], each.few]) };
  });
  const nameStop = (stop) => {
    const bucket = buckets.find((each) => each.mean === stop);
    return `${bucket.label} ${unit}, ${formatNumber(bucket.count)} ${counted}`;
  };
  return drawFigure(series, { axis: `source length in ${unit}`, share: false, say: nameStop });
}

function drawBuckets(sheet, score) {
  const { unit, counted, buckets } = sheet.lengths;
  const rows = buckets.map((bucket, i) => {
    const count = [formatNumber(bucket.count), bucket.few ? make("small", {}, "few") : null];
    return [[bucket.label], count, ...score.runs.map((values) => [values[i].toFixed(2)])];
  });
  return drawTable([unit, counted, ...sheet.runs], rows);
}

function drawSentence(runs, outputs, open) {
  const [{ source, reference, further_references }] = outputs;
  const unknown = outputs.map((each) => each.unknown).reduce((most, each) => (each.length > most.length ? each : most));
  const lines = [["source", markSpans(source, unknown)], ...[reference, ...further_references].map((text) => ["reference", [text]])].map(([name, text]) => make("span", { class: "line" },
    make("span", { class: "name" }, name), make("span", { class: "text", dir: "auto" }, ...text)));
  const details = make("details", { class: "example" }, make("summary", {}, make("div", { class: "lines" }, ...lines)));
  const draw = once(() => details.append(make("div", { class: "beside" }, ...outputs.map((output, run) => drawOutput(runs[run], run, output)))));
  details.addEventListener("toggle", () => details.open && draw());
  waiting.push(() => { draw(); details.open = true; });
  if (open) { draw(); details.open = true; }
  return details;
}

function drawOutput(name, run, output) {
  const text = make("span", { class: "text", dir: "auto" }, ...markEdits(output, 1, "del"));
  const shown = output.trace ? showTrace(output.trace) : say(settings.no_attention);
  return make("section", { class: "output" },
    make("h3", {}, tone(make("span", { class: "key", dir: "auto" }, name), run)),
    make("p", { class: "wrote" }, judge(output), " ", text), shown);
}
