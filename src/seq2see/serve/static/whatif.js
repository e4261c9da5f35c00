// What if: another source token, another target token, an intervention on heads; before and after side by side.

// Opens a dialog to replace a token: of the output on the target side, of the input on the source side.
function editToken(studio, request, trace, { side, places }) {
  if (side === "source") return editSource(studio, request, trace, places);
  if (trace.probabilities) return; // a label is chosen, not written
  const place = Math.max(places[0] - (side === "inputs" ? 1 : 0), 0);
  return editTarget(studio, request, trace, place);
}

function editSource(studio, request, trace, places) {
  const [first, last] = [trace.source_tokens[places[0]], trace.source_tokens[places.at(-1)]];
  const chars = Array.from(trace.source);
  const old = chars.slice(first.start, last.end).join("");
  if (first.start === last.end) return;
  const box = make("input", { type: "text", dir: "auto", "aria-label": "Read instead" });
  box.value = old;
  openDialog(`Instead of “${old}”, read`, [box], () => {
    const text = [...chars.slice(0, first.start), box.value, ...chars.slice(last.end)].join("");
    changeRequest(studio, request, { text, prefix_ids: null, prefix: null });
  });
  box.select();
}

function editTarget(studio, request, trace, place) {
  const before = trace.ids.slice(0, place);
  const token = trace.target_tokens[place];
  const choices = (trace.top_tokens?.[place] ?? []).map((choice) => {
    const button = make("button", { type: "button", class: choice.id === trace.ids[place] ? "own" : null },
      make("bdi", { dir: "auto" }, showText(choice.text)), make("span", { class: "confidence" }, formatChance(choice.confidence)));
    button.addEventListener("click", () => {
      button.closest("dialog").close();
      changeRequest(studio, request, { prefix_ids: [...before, choice.id], prefix: null });
    });
    return make("li", {}, button);
  });
  const box = make("input", { type: "text", dir: "auto", placeholder: "or type it", "aria-label": "Write instead" });
  openDialog(`Instead of “${showText(token.text)}”, write`, [make("ol", { class: "choices" }, ...choices), box], () => {
    if (!box.value) return;
    const head = Array.from(trace.target).slice(0, token.start).join("");
    changeRequest(studio, request, { prefix: head + box.value, prefix_ids: null });
  });
}

function formatChance(chance) {
  return chance < 0.001 ? "<0.1%" : `${(100 * chance).toFixed(1)}%`;
}

function openDialog(title, content, onSubmit) {
  const form = make("form", { method: "dialog" }, make("h2", {}, title), ...content,
    make("div", { class: "buttons" }, make("button", { type: "submit", class: "primary" }, "Change it"), makeCancel()));
  const dialog = make("dialog", { "aria-label": title }, form);
  form.addEventListener("submit", onSubmit);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("input")?.focus();
}

function makeCancel() {
  const button = make("button", { type: "button" }, "Cancel");
  button.addEventListener("click", () => button.closest("dialog").close());
  return button;
}

// Interventions on the map and head that are shown.
function drawInterventions(studio) {
  const { look, results, request } = studio;
  const kind = drawKinds("Search instead", request.search.kind, (chosen) => changeRequest(studio, request, { search: { ...request.search, kind: chosen } }));
  const search = results[0]?.probabilities ? null : make("div", { class: "buttons" }, kind); // a label is not searched for
  const maps = results[0]?.maps ?? [];
  if (!maps.length) return results[0]?.ids.length && results[0].target_tokens?.length ? [search] : [];
  const map = maps.find((each) => each.name === look.name) ?? maps[findLast(maps, aligns)];
  if (map.name === settings.rollout) return [make("p", { class: "quiet small" }, "What is shown comes of all layers together; choose one of them to change it."), search].filter(Boolean);
  const heads = look.head >= 0 && map.weights.length > 1 ? [look.head + 1] : null;
  const name = nameHeads(map.name, heads, map.weights.length);
  const buttons = [["Switch it off", { weights: "none" }], ["Let it look at everything alike", { weights: "uniform" }]].map(([label, change]) => {
    const button = make("button", { type: "button" }, label);
    button.addEventListener("click", () => intervene(studio, { map: map.name, heads, ...change }));
    return button;
  });
  const heat = make("input", { type: "number", min: 0.01, max: 1000, step: "any", placeholder: "1", class: "heat" });
  heat.addEventListener("change", () => Number(heat.value) > 0 && intervene(studio, { map: map.name, heads, temperature: Number(heat.value) }));
  return [make("p", { class: "quiet small" }, "What is shown: ", make("b", {}, name), ". Click on a token to change it."),
    make("div", { class: "buttons" }, ...buttons, make("label", { class: "choice" }, "Divide its scores by", heat)), search].filter(Boolean);
}

function nameHeads(map, heads, count) {
  return heads ? `${map}, head ${heads.join(", ")}` : count > 1 ? `${map}, all ${count} heads` : map;
}

function intervene(studio, change) {
  const same = (each) => each.map === change.map && String(each.heads) === String(change.heads);
  const old = studio.request.interventions.find(same) ?? {};
  const packed = Object.fromEntries(Object.entries({ ...old, ...change }).filter(([, value]) => value !== null));
  changeRequest(studio, studio.request, { interventions: [...studio.request.interventions.filter((each) => !same(each)), packed] });
}

// What was changed, each with a button that takes it back.
function listInterventions(studio) {
  const { request, before } = studio;
  if (!before) return [];
  const rows = request.interventions.map((change) => drawChip(tellChange(change), () =>
    changeRequest(studio, request, { interventions: request.interventions.filter((each) => each !== change) })));
  if (request.prefix_ids || request.prefix) {
    rows.push(drawChip("the output begins as you said", () => changeRequest(studio, request, { prefix_ids: null, prefix: null })));
  }
  if (request.text !== before.text) rows.push(drawChip("another source", () => changeRequest(studio, request, { text: before.text })));
  if (request.search.kind !== before.search.kind) {
    rows.push(drawChip(`search: ${request.search.kind}`, () => changeRequest(studio, request, { search: before.search })));
  }
  if (request.model !== before.model) rows.push(drawChip("another run", () => changeRequest(studio, request, { model: before.model })));
  const keep = make("button", { type: "button" }, "Go on from here");
  keep.addEventListener("click", () => keepRequest(studio, studio.request));
  const undo = make("button", { type: "button" }, "Take it all back");
  undo.addEventListener("click", () => keepRequest(studio, studio.before));
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
