// Examples from the held-out data of the run: one click fills the form and asks. The table of all lines does the same.

const EXAMPLES = 6;
const NO_EXAMPLES = "This run keeps no examples; a training with test or validation data writes them at its end.";
const wide = window.matchMedia("(min-width: 64rem)");

// Reads what the run folder keeps; a run without any is greeted without examples.
async function greet(studio) {
  const { model } = studio.request;
  studio.examples.replaceChildren();
  studio.lines.replaceChildren();
  if (!model || findModel(studio, model)?.error) return;
  try {
    const heldOut = await callApi(`/v1/held-out?model=${encodeURIComponent(model)}`);
    if (studio.request.model === model) showHeldOut(studio, heldOut);
  } catch (error) {
    if (studio.request.model === model) studio.examples.replaceChildren(make("p", { class: "quiet small" }, `No examples: ${error.message}`));
  }
}

function showHeldOut(studio, heldOut) {
  const lines = heldOut.lines.filter((line) => canAsk(studio, line));
  if (!heldOut.lines.length) return studio.examples.replaceChildren(make("p", { class: "quiet small" }, NO_EXAMPLES));
  if (lines.length) studio.examples.replaceChildren(drawExamples(studio, heldOut, chooseExamples(lines)));
  const note = lines.length < heldOut.lines.length ? `The ${lines.length} with an image can be run again here.` : "Click on a line to look inside.";
  const table = drawLines(heldOut, { canOpen: (line) => canAsk(studio, line), open: (line) => askLine(studio, line), note });
  studio.lines.append(make("details", { open: studio.results.length ? null : "" },
    make("summary", {}, make("h2", {}, `What it makes of the ${heldOut.data}`)), table));
}

// At equal distances, because data may be sorted by class; one for each text or image.
function chooseExamples(lines) {
  const known = [...new Map(lines.filter((line) => line.source.trim()).map((line) => [line.image ?? line.source, line])).values()];
  const count = Math.min(EXAMPLES, known.length);
  return Array.from({ length: count }, (_, index) => known[Math.floor((index * known.length) / count)]);
}

function drawExamples(studio, heldOut, lines) {
  const buttons = lines.map((line) => {
    const button = make("button", { type: "button", class: "example-button", title: line.image ? line.source : null },
      line.image ? make("img", { class: "thumbnail", src: line.image, alt: line.source }) : make("span", { class: "one-line", dir: "auto" }, line.source));
    button.addEventListener("click", () => askLine(studio, line));
    return make("li", {}, button);
  });
  return make("details", { class: "examples", open: studio.results.length && !wide.matches ? null : "" },
    make("summary", {}, `Examples from the ${heldOut.data}`),
    make("ul", { class: lines[0]?.image ? "example-list of-images" : "example-list" }, ...buttons));
}

// A text can be asked for again; an image only if its pixels were kept.
function canAsk(studio, line) {
  return readsImages(studio, studio.request.model) ? line.image !== null : line.source.trim() !== "";
}

function askLine(studio, line) {
  if (line.image) studio.image = line.image;
  else studio.text.value = line.source;
  showChosenImage(studio);
  restart(studio, line.image ? "" : line.source);
  window.scrollTo({ top: 0 });
}
