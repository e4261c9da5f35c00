// One trace: its raw texts, a choice of views on the same weights, and a readout of what is pointed at.

const KINDS = { image: "Image", grid: "Heatmap", heads: "All heads", arcs: "Arcs", tree: "Beam" };
const byHand = window.matchMedia("(hover: none)"); // a screen that is touched, where nothing can be pointed at
const SETTINGS = { kind: null, name: null, head: -1, words: false, stretch: false }; // `name` is that of a map

// Options: `state` to begin with, `onState` hears of every change of it, `onToken` of a click on a token.
function drawTrace(trace, options = {}) {
  const why = trace.maps.length === 0 ? settings.no_attention
    : trace.source_tokens.length && trace.target_tokens.length ? null : settings.no_tokens;
  const view = makeView(trace, options, why !== null);
  const note = why && make("p", { class: "quiet" }, why);
  const labels = trace.probabilities ? drawLabels(trace) : null;
  const leads = !why && leadsWithDrops(trace);
  const root = make("section", { class: "trace" });
  const views = listKinds(view).length ? make("div", { class: "views" }, view.tabs, drawFill(root)) : null;
  fill(root, {}, [...(leads ? [labels, ...drawLead(trace)] : []), view.texts, drawUnknown(trace.source_tokens),
    leads ? null : labels, note, ...(why ? drawBare(trace) : []), views, view.controls,
    make("div", { class: "shown" }, view.exhibit, view.readout), view.remark, why || leads ? null : drawCaption(trace),
    ...(!why && !leads && hidesDrops(trace) ? drawOcclusion(trace) : [])]);
  if (why) view.texts.replaceChildren(...drawPlainTexts(view));
  if (!why || trace.history) {
    fillTabs(view);
    showView(view);
    listen(view, root);
  }
  root.follow = (state) => follow(view, state);
  return root;
}

// Shows what another trace shows, as far as this one has it.
function follow(view, { kind, name, head, words, stretch }) {
  const map = view.trace.maps.findIndex((each) => each.name === name);
  const known = map < 0 ? {} : { map, head: head < view.trace.maps[map].weights.length ? head : -1 };
  Object.assign(view, known, { words: words && hasWords(view.trace), stretch });
  if (listKinds(view).includes(kind)) view.kind = kind;
  if (listKinds(view).length) showView(view);
}

function makeView(trace, options, bare) {
  const view = { trace, ...SETTINGS, ...options.state, here: null, options, bare };
  view.map = trace.maps.findIndex((map) => map.name === view.name);
  if (view.map < 0) Object.assign(view, { map: findLast(trace.maps, aligns), head: -1 });
  if (view.head >= (trace.maps[view.map]?.weights.length ?? 0)) view.head = -1;
  view.words = view.words && hasWords(trace);
  if (!listKinds(view).includes(view.kind)) view.kind = listKinds(view)[0] ?? "grid";
  view.texts = make("div", { class: "texts" });
  view.tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "Views" });
  view.controls = make("div", { class: "controls" });
  view.remark = make("p", { class: "remark" });
  view.exhibit = make("div", { class: "exhibit" });
  view.readout = make("p", { class: "readout", role: "status", "aria-live": "polite" });
  return view;
}

function listKinds(view) {
  const several = view.trace.maps.some((map) => map.weights.length > 1) || view.trace.maps.length > 1;
  const kinds = [...(findOverlays(view.trace).length ? ["image"] : []), "grid", ...(several ? ["heads"] : []), "arcs"];
  return [...(view.bare ? [] : kinds), ...(view.trace.history ? ["tree"] : [])];
}

function aligns(map) {
  return readSide(map, "queries") === "target" && readSide(map, "keys") === "source";
}

// A map between target and source, unless it says otherwise.
function readSide(map, way) {
  return map[way] ?? (way === "queries" ? "target" : "source");
}

function findLast(maps, fits) {
  const found = maps.map(fits).lastIndexOf(true);
  return found < 0 ? maps.length - 1 : found;
}

// Changes what is chosen and shows it.
function choose(view, changes) {
  Object.assign(view, changes);
  const { kind, map, head, words, stretch } = view;
  showView(view);
  view.options.onState?.({ kind, name: view.trace.maps[map]?.name, head, words, stretch });
}

function fillTabs(view) {
  const kinds = listKinds(view);
  if (kinds.length < 2) return view.tabs.remove();
  const tabs = kinds.map((kind) => {
    const tab = make("button", { type: "button", role: "tab", "data-kind": kind }, KINDS[kind]);
    tab.addEventListener("click", () => choose(view, { kind }));
    return tab;
  });
  view.tabs.replaceChildren(...tabs);
  view.tabs.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs[(kinds.indexOf(view.kind) + step + tabs.length) % tabs.length];
    next.click();
    next.focus();
  });
}

function showView(view) {
  for (const tab of view.tabs.children) {
    tab.setAttribute("aria-selected", tab.dataset.kind === view.kind);
    tab.tabIndex = tab.dataset.kind === view.kind ? 0 : -1;
  }
  view.light = () => {};
  view.say = () => [tellHow(view)];
  if (!view.bare) readMap(view);
  fillControls(view);
  view.remark.textContent = view.kind === "tree" || view.kind === "image" ? "" : nameMap(view);
  const shows = { image: showImage, grid: showGrid, heads: showHeads, arcs: showArcs, tree: showTree };
  view.exhibit.replaceChildren(...shows[view.kind](view));
  view.texts.hidden = view.readout.hidden = view.kind === "image";
  light(view, view.kind === "grid" || view.kind === "arcs" ? view.here : null);
  fitAll();
}

// How to read numbers from what is shown, by mouse and keys or by hand.
function tellHow({ kind, options }) {
  const verb = byHand.matches ? "Tap" : "Point at";
  const change = options.onToken ? byHand.matches ? "; tap a token again to change it" : "; click on a token to change it" : "";
  if (kind === "arcs") return `${verb} a token to see what belongs to it${change}.`;
  return `${verb} a token or a cell${byHand.matches ? "" : ", or use the arrow keys"}${change}.`;
}

// The weights of the chosen map and head, as tokens or as words, with what stands on their sides.
function readMap(view) {
  const map = view.trace.maps[view.map];
  const heads = map.weights;
  const sides = [readSide(map, "queries"), readSide(map, "keys")];
  const key = `${sides} ${view.words}`;
  if (view.key !== key) {
    Object.assign(view, { key, here: null });
    view.rows = drawSide(view, sides[0], (token) => ({ row: token, column: -1 }));
    view.columns = drawSide(view, sides[1], (token) => ({ row: -1, column: token }));
    const texts = [view.columns, view.rows].filter(({ side }) => !view.trace.image || side !== "source"); // cells have no text
    view.texts.replaceChildren(...texts.map(({ name, node }) => nameText(name, node)));
  }
  view.weights = mergeWeights(view.head < 0 ? averageHeads(heads) : heads[view.head], view.rows.groups, view.columns.groups);
  view.scale = view.stretch ? Math.max(...view.weights.flat(), 1e-12) : 1;
}

function averageHeads(heads) {
  if (heads.length === 1) return heads[0];
  const mean = (r, c) => heads.reduce((sum, head) => sum + head[r][c], 0) / heads.length;
  return heads[0].map((row, r) => row.map((_, c) => mean(r, c)));
}

// How far attention weights and drops put the parts of a source in the same order; nothing where it was not measured.
function tellAgreement(agreement) {
  const tau = agreement?.kendall ?? null;
  return tau === null ? "" : `; rank agreement with attention: Kendall's tau ${tau.toFixed(2)}`;
}

// What the figure shows, in words: which map, whether heads were averaged, how words were made, how it is scaled.
function nameMap(view) {
  if (view.kind === "heads") return "One scale from 0 to 1 for all heads.";
  const map = view.trace.maps[view.map];
  const count = map.weights.length;
  const told = view.kind === "grid" ? `Each row is a token of the ${nameSide(view.rows)}: the stronger the colour, the larger its attention weight on that token of the ${nameSide(view.columns)}` : "";
  const drops = showsDrops(view) ? "below, how the log-probability of the output changes when a word is left out" + tellAgreement(view.trace.agreement) : "";
  const off = view.weights.flat().some((weight) => weight !== 0) ? "" : "all weights are 0";
  const heads = count === 1 && map.averaged_heads > 1 ? nameMean(map.averaged_heads) : "";
  const words = view.words ? "words: weights summed over the tokens of a key, averaged over those of a query" : "";
  const scale = view.stretch ? `colours scaled to this map's largest weight, ${formatWeight(view.scale)}` : "";
  return [told, heads, words, scale, off, drops].filter(Boolean).join("; ");
}

function nameSide({ name, side }) {
  return side === "inputs" ? "target so far" : name.toLowerCase();
}

function nameMean(count) {
  return `mean of ${count} heads`;
}

function fillControls(view) {
  const parts = [];
  if (view.kind === "grid" || view.kind === "arcs") parts.push(...chooseMap(view));
  if (!view.bare && ["grid", "heads", "arcs"].includes(view.kind) && hasWords(view.trace)) {
    parts.push(makeSwitch("Words", view.words, (words) => choose(view, { words, here: null })));
  }
  if (view.kind === "grid") {
    parts.push(makeSwitch("Scale to the largest", view.stretch, (stretch) => choose(view, { stretch })), drawLegend(view.scale));
  }
  if (view.kind === "heads") parts.push(drawLegend(1));
  const focused = [...view.controls.querySelectorAll("select, input")].indexOf(document.activeElement);
  view.controls.replaceChildren(...parts);
  if (focused >= 0) view.controls.querySelectorAll("select, input")[focused]?.focus();
}

function chooseMap(view) {
  const maps = view.trace.maps;
  const names = maps.map(shortenName);
  const parts = [];
  if (names.length > 1) {
    parts.push(makeSelect("Map", names, (map) => choose(view, { map, head: -1 }), view.map));
  } else parts.push(make("span", { class: "choice" }, names[0]));
  const count = maps[view.map].weights.length;
  if (count > 1) {
    const heads = [nameMean(count), ...maps[view.map].weights.map((_, index) => `head ${index + 1}`)];
    parts.push(makeSelect("Heads", heads, (index) => choose(view, { head: index - 1 }), view.head + 1));
  }
  return parts;
}

// That an attention attends needs no saying.
function shortenName({ name }) {
  return name.replace(/\.attend$/, "");
}

function drawBar(family = "") {
  const bar = make("span", { class: "bar painted" });
  for (const theme of ["light", "dark"]) {
    bar.style.setProperty(`--${theme}`, `linear-gradient(to right, ${settings[family + theme].join(", ")})`);
  }
  return bar;
}

function drawLegend(scale) {
  return make("span", { class: "legend" }, "weight 0", drawBar(), scale === 1 ? "1" : formatWeight(scale));
}

function listen(view, root) {
  const find = (event) => event.target.closest?.("[data-row]");
  root.addEventListener("mouseover", (event) => find(event) && light(view, readPlace(find(event))));
  root.addEventListener("mouseleave", () => light(view, null));
  root.addEventListener("focusin", (event) => find(event) && light(view, readPlace(find(event))));
  root.addEventListener("pointerdown", (event) => { // the first touch shows what belongs to a token, the second changes it
    const place = find(event) && readPlace(find(event));
    view.looking = event.pointerType === "touch" && place && !(view.here?.row === place.row && view.here.column === place.column);
  });
  root.addEventListener("click", (event) => find(event) && !view.looking && pick(view, find(event)));
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches?.("th[data-row], td[data-row]")) return;
    event.preventDefault(); // or the key would also submit the dialog that it opens
    pick(view, event.target);
  });
}

// Whoever wants to know hears which token was clicked: its side, and the places of its tokens on it.
function pick(view, node) {
  const { row, column } = readPlace(node);
  if (!view.options.onToken || (row >= 0) === (column >= 0)) return;
  const side = row >= 0 ? view.rows : view.columns;
  view.options.onToken({ side: side.side, places: side.groups[Math.max(row, column)].places, node });
}

function readPlace(node) {
  return { row: Number(node.dataset.row), column: Number(node.dataset.column) };
}

// Lights what belongs to a place: the keys of a query, the queries of a key, or one weight and its row and column.
function light(view, here) {
  view.here = here;
  if (!view.bare) lightTexts(view, here);
  view.light(here);
  view.readout.replaceChildren(...(here && !view.bare ? describe(view, here) : view.say()));
}

function describe(view, here) {
  const [sources, targets] = [view.columns.tokens, view.rows.tokens];
  const [row, column] = [here.row, here.column];
  if (row >= 0 && column >= 0) {
    const weight = make("strong", {}, formatWeight(view.weights[row][column]));
    const [target, source] = [quote(targets[row]), quote(sources[column])];
    return [target, ` (${row + 1}) attends to `, source, ` (${column + 1}) with weight `, weight];
  }
  const [token, others, verb] = row >= 0
    ? [targets[row], sources, " attends to "]
    : [sources[column], targets, " is attended to by "];
  const weights = row >= 0 ? view.weights[row] : view.weights.map((line) => line[column]);
  const sure = token.confidence == null ? "" : `, ${formatShare(token.confidence)} sure,`;
  return [quote(token), sure + verb, ...listStrongest(others, weights)];
}

function listStrongest(tokens, weights) {
  const order = weights.map((_, index) => index).sort((a, b) => weights[b] - weights[a]).slice(0, 3);
  return order.flatMap((index, i) => [i ? ", " : "", quote(tokens[index]), ` ${formatWeight(weights[index])}`]);
}

function quote(token) {
  return make("bdi", { class: "quoted" }, showText(token.text));
}

function formatShare(confidence) {
  return `${Math.round(confidence * 100)}%`;
}
