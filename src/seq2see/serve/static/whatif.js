// What if: another source token, another target token, heads that look elsewhere; before and after stand side by side.

// Asks about a token: on the target side for what to write instead, on the source side for what to read instead.
function askToken(studio, asked, trace, { side, places }) {
  if (side === "source") return askSource(studio, asked, trace, places);
  if (trace.probabilities) return; // a label is chosen, not written
  const place = Math.max(places[0] - (side === "inputs" ? 1 : 0), 0);
  return askTarget(studio, asked, trace, place);
}

function askSource(studio, asked, trace, places) {
  const [first, last] = [trace.source_tokens[places[0]], trace.source_tokens[places.at(-1)]];
  const chars = Array.from(trace.source);
  const old = chars.slice(first.start, last.end).join("");
  if (first.start === last.end) return;
  const box = make("input", { type: "text", dir: "auto", "aria-label": "Read instead" });
  box.value = old;
  openDialog(`Instead of “${old}”, read`, [box], () => {
    const text = [...chars.slice(0, first.start), box.value, ...chars.slice(last.end)].join("");
    wonder(studio, asked, { text, prefix_ids: null, prefix: null });
  });
  box.select();
}

function askTarget(studio, asked, trace, place) {
  const before = trace.ids.slice(0, place);
  const token = trace.target_tokens[place];
  const choices = (trace.choices?.[place] ?? []).map((choice) => {
    const button = make("button", { type: "submit", class: choice.id === trace.ids[place] ? "own" : null },
      make("bdi", { dir: "auto" }, showText(choice.text)), make("span", { class: "confidence" }, formatChance(choice.confidence)));
    button.addEventListener("click", () => wonder(studio, asked, { prefix_ids: [...before, choice.id], prefix: null }));
    return make("li", {}, button);
  });
  const box = make("input", { type: "text", dir: "auto", placeholder: "or type it", "aria-label": "Write instead" });
  openDialog(`Instead of “${showText(token.text)}”, write`, [make("ol", { class: "choices" }, ...choices), box], () => {
    if (!box.value) return;
    const head = Array.from(trace.target).slice(0, token.start).join("");
    wonder(studio, asked, { prefix: head + box.value, prefix_ids: null });
  });
}

function formatChance(chance) {
  return chance < 0.001 ? "<0.1%" : `${(100 * chance).toFixed(1)}%`;
}

function openDialog(title, content, onSubmit) {
  const form = make("form", { method: "dialog" }, make("h2", {}, title), ...content,
    make("div", { class: "buttons" }, make("button", { type: "submit", class: "primary" }, "Do it"), makeCancel()));
  const dialog = make("dialog", { "aria-label": title }, form);
  form.addEventListener("submit", (event) => !event.submitter || event.submitter.matches(".primary") ? onSubmit() : null);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("input")?.focus();
}

function makeCancel() {
  const button = make("button", { type: "button" }, "Leave it");
  button.addEventListener("click", () => button.closest("dialog").close());
  return button;
}

// What can be done to the map and head that are looked at.
function drawMeddling(studio) {
  const { look, results, question } = studio;
  const way = makeSelect("Search instead", WAYS, (index) =>
    wonder(studio, question, { search: { ...question.search, way: WAYS[index] } }), WAYS.indexOf(question.search.way));
  const search = results[0]?.probabilities ? null : make("div", { class: "buttons" }, way); // a label is not searched for
  const maps = results[0]?.maps ?? [];
  if (!maps.length) return results[0]?.ids.length && results[0].target_tokens?.length ? [search] : [];
  const map = maps.find((each) => each.name === look.name) ?? maps[findLast(maps, aligns)];
  if (map.name === settings.rollout) return [make("p", { class: "quiet small" }, "What is shown comes of all layers together; choose one of them to change it."), search].filter(Boolean);
  const heads = look.head >= 0 && map.weights.length > 1 ? [look.head + 1] : null;
  const name = nameHeads(map.name, heads, map.weights.length);
  const buttons = [["Switch it off", { weights: "none" }], ["Let it look at everything alike", { weights: "uniform" }]].map(([label, change]) => {
    const button = make("button", { type: "button" }, label);
    button.addEventListener("click", () => meddle(studio, { map: map.name, heads, ...change }));
    return button;
  });
  const heat = make("input", { type: "number", min: 0.01, max: 1000, step: "any", placeholder: "1", class: "heat" });
  heat.addEventListener("change", () => Number(heat.value) > 0 && meddle(studio, { map: map.name, heads, temperature: Number(heat.value) }));
  return [make("p", { class: "quiet small" }, "What is shown: ", make("b", {}, name), ". Click on a token to change it."),
    make("div", { class: "buttons" }, ...buttons, make("label", { class: "choice" }, "Divide its scores by", heat)), search].filter(Boolean);
}

function nameHeads(map, heads, count) {
  return heads ? `${map}, head ${heads.join(", ")}` : count > 1 ? `${map}, all ${count} heads` : map;
}

function meddle(studio, change) {
  const same = (each) => each.map === change.map && String(each.heads) === String(change.heads);
  const old = studio.question.changes.find(same) ?? {};
  const packed = Object.fromEntries(Object.entries({ ...old, ...change }).filter(([, value]) => value !== null));
  wonder(studio, studio.question, { changes: [...studio.question.changes.filter((each) => !same(each)), packed] });
}

// What was changed, each with a button that takes it back.
function listChanges(studio) {
  const { question, before } = studio;
  if (!before) return [];
  const rows = question.changes.map((change) => drawChip(tellChange(change), () =>
    wonder(studio, question, { changes: question.changes.filter((each) => each !== change) })));
  if (question.prefix_ids || question.prefix) {
    rows.push(drawChip("the output begins as you said", () => wonder(studio, question, { prefix_ids: null, prefix: null })));
  }
  if (question.text !== before.text) rows.push(drawChip("another source", () => wonder(studio, question, { text: before.text })));
  if (question.search.way !== before.search.way) {
    rows.push(drawChip(`search: ${question.search.way}`, () => wonder(studio, question, { search: before.search })));
  }
  if (question.model !== before.model) rows.push(drawChip("another run", () => wonder(studio, question, { model: before.model })));
  const keep = make("button", { type: "button" }, "Go on from here");
  keep.addEventListener("click", () => settle(studio, studio.question));
  const undo = make("button", { type: "button" }, "Take it all back");
  undo.addEventListener("click", () => settle(studio, studio.before));
  return [make("div", { class: "buttons" }, ...rows, keep, undo)];
}

function tellChange({ map, heads, weights, temperature }) {
  const deeds = [weights === "none" ? "off" : weights === "uniform" ? "looks at everything alike" : "",
    temperature && temperature !== 1 ? `scores divided by ${temperature}` : ""].filter(Boolean);
  return `${heads ? `${map}, head ${heads.join(", ")}` : map}: ${deeds.join(", ")}`;
}

function drawChip(label, onRemove) {
  const button = make("button", { type: "button", class: "chip", "aria-label": `Take back: ${label}` }, label, " ✕");
  button.addEventListener("click", onRemove);
  return button;
}
