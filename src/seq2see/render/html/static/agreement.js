// What attention is and is not, said beside every map; and leave-one-out in front where attention hardly agrees with it.

// Whether probability drops stand before attention: they were measured, and the attention of the run hardly agrees with them.
function leadsWithDrops(trace) {
  const measured = trace.sentences ? hasDrops(trace) : trace.drops?.length > 0;
  return Boolean(trace.run_agreement?.weak && measured);
}

function drawCaption(trace) {
  const { text, weak } = trace.run_agreement ?? { text: "", weak: false };
  const known = text ? ` ${text[0].toUpperCase()}${text.slice(1)}.` : "";
  return make("p", { class: weak ? "meaning weak" : "meaning" }, settings.meaning, known && make(weak ? "strong" : "span", {}, known));
}

// Drops first: why, then what the output needs, then the heading of what follows.
function putDropsFirst(trace, ...drops) {
  const parts = trace.regions ? "region" : "word";
  return [drawCaption(trace), make("section", { class: "needed" },
    make("h3", {}, "Leave-one-out: what the output needs"),
    say(`How the log-probability of the output (of a label, its probability) changes without each ${parts}; the stronger the colour, the larger the drop.`),
    ...drops), make("h3", { class: "below" }, "Attention: where the model attended")];
}

function drawLead(trace) {
  return putDropsFirst(trace, trace.regions ? drawNeededRegions(trace) : drawNeededWords(trace));
}

// The source, with each part painted by its drop and the number below it; it wraps as the text does.
function drawNeededWords({ source, drops }) {
  const chars = Array.from(source);
  const most = Math.max(...drops.map(({ drop }) => drop), 1e-12);
  const nodes = [];
  let last = 0;
  for (const { start, end, drop } of drops) {
    const word = make("bdi", { class: "part" }, showText(chars.slice(start, end).join("")));
    paint(word, Math.max(drop, 0) / most, "warm_");
    nodes.push(chars.slice(last, start).join(""), make("span", { class: "need" }, word, make("small", {}, writeChange(drop))));
    last = end;
  }
  return make("p", { class: "needs", dir: isRightToLeft(source) ? "rtl" : "ltr" }, ...nodes, chars.slice(last).join(""));
}

// The image, clear where the output needs it, beside the number of each region.
function drawNeededRegions(trace) {
  const { regions, drops } = trace;
  const size = 240;
  const canvas = make("canvas", { width: size, height: size, role: "img", "aria-label": "the image, clear where the drop is large" });
  const image = new Image();
  const needs = drops.map(({ drop }) => Math.max(drop, 0));
  image.addEventListener("load", () => paintVeil(canvas, image, needs, regions, { largest: Math.max(...needs, 1e-9), smooth: true }));
  image.src = trace.image;
  return make("div", { class: "regioned" }, canvas, drawRegions(trace));
}

// What an input has that the run does not know; nothing if it knows all.
function drawUnknown(tokens) {
  const found = [...new Set(tokens.filter(({ unknown }) => unknown).map(({ text }) => text))];
  if (!found.length) return null;
  const named = found.flatMap((text, index) => [index ? ", " : "", make("bdi", { class: "quoted unknown", dir: "auto" }, showText(text))]);
  return make("p", { class: "strange" }, settings.unknown, ": ", ...named);
}
