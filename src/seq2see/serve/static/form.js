// The form: the run, its input, and the decoding options.

// Kinds of search, each with its label; "configured" is what the run itself names.
const SEARCHES = [["configured", "as configured"], ["greedy", "greedy"], ["beam", "beam"], ["mbr", "minimum Bayes risk"], ["sample", "sampling"]];
const SEARCH_KINDS = SEARCHES.map(([kind]) => kind);

const ACTIONS = { // what a run does: on its button, and while it works
  translate: ["Translate", "Translating"],
  predict: ["Predict", "Predicting"],
  caption: ["Caption", "Captioning"],
  classify: ["Classify", "Classifying"],
};

function nameAction(studio) {
  return ACTIONS[findModel(studio, studio.request.model)?.action] ?? ACTIONS.predict;
}

function findModel(studio, name) {
  return studio.models.find((model) => model.name === name);
}

// The input and its button stay; the rest folds away when there is something to see.
function drawForm(studio) {
  const model = findModel(studio, studio.request.model);
  const form = make("form", { class: "ask", "aria-label": "Input" });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    restart(studio, studio.text.value);
  });
  studio.text = drawTextBox(studio, form);
  const input = model?.source === "image" ? drawUpload(studio) : [make("label", { class: "name", for: "text" }, "Input"), studio.text];
  studio.button = make("button", { type: "submit", class: "primary" }, nameAction(studio)[0]);
  studio.fold = make("details", { class: "fold", open: studio.results.length ? null : "" },
    make("summary", {}, nameSettings(studio, model)), make("div", { class: "controls" }, ...drawRuns(studio, model), drawLeaveOut(studio, model), describeRun(model)),
    model?.writes === "label" ? "" : drawSearch(studio));
  form.append(studio.fold, ...input, make("div", { class: "buttons" }, studio.button));
  showChosenImage(studio);
  return form;
}

function nameSettings(studio, model) {
  return make("span", {}, make("b", { dir: "auto" }, model?.name ?? "Run"), make("span", { class: "quiet" }, " · run and options"));
}

function drawTextBox(studio, form) {
  const text = make("textarea", { id: "text", rows: 3, spellcheck: "false", dir: "auto", "aria-label": "Input", placeholder: "Type a text and press Enter" });
  text.value = studio.request.text;
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  return text;
}

// Which run answers, and which one beside it: only those that read the same kind of source can be compared.
function drawRuns(studio, model) {
  const name = (each) => (each.error ? `${each.name} (${each.loading ? "loading" : "broken"})` : each.name);
  const place = (list, wanted) => list.findIndex((each) => each.name === wanted);
  const { models } = studio;
  const run = models.length < 2 ? null : makeSelect("Run", models.map(name), (index) => changeRun(studio, models[index].name), Math.max(place(models, studio.request.model), 0));
  const others = models.filter((each) => each.name !== model?.name && !each.error && each.source === model?.source);
  if (!others.length) return [run];
  return [run, makeSelect("Compare with", ["nothing", ...others.map(name)], (index) => {
    studio.against = index ? others[index - 1].name : null;
    if (studio.request.text || studio.image) write(studio);
  }, place(others, studio.against) + 1)];
}

// Leave-one-out: the probability drop of the output when each word of the source is left out.
function drawLeaveOut(studio, model) {
  const parts = model?.source === "image" ? "region" : "word";
  return makeSwitch(`Leave out each ${parts} in turn`, studio.request.leave_one_out ?? model?.agreement?.weak ?? false, (leave_one_out) => {
    studio.request = { ...studio.request, leave_one_out };
    if (studio.before) studio.before = { ...studio.before, leave_one_out };
    if (studio.request.text || studio.image) write(studio);
  });
}

// A run in a few words.
function describeRun(model) {
  if (!model || model.error) return null;
  const size = Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 2 }).format(model.parameters);
  const reads = { text: "reads a text", image: "reads an image", document: "reads a document" }[model.source];
  return make("span", { class: "quiet" }, `${model.preset ?? "a model of its own"}, ${size} parameters, ${reads}`);
}

// An image instead of a text; it is too large for the address, so a link does not hold it.
function drawUpload(studio) {
  const file = make("input", { type: "file", id: "image", accept: "image/*", class: "unseen" });
  file.addEventListener("change", () => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      studio.image = reader.result;
      showChosenImage(studio);
      restart(studio, "");
    });
    if (file.files[0]) reader.readAsDataURL(file.files[0]);
  });
  studio.chosen = make("img", { class: "chosen-image", alt: "the chosen image", hidden: "" });
  const field = make("div", { class: "upload" }, studio.chosen, make("label", { class: "button" }, file, "Choose an image"),
    make("span", { class: "quiet" }, "or drop one here"));
  field.addEventListener("dragover", (event) => event.preventDefault());
  field.addEventListener("drop", (event) => {
    event.preventDefault();
    file.files = event.dataTransfer.files;
    file.dispatchEvent(new Event("change"));
  });
  return [field];
}

function showChosenImage({ chosen, image }) {
  if (!chosen || !image) return;
  chosen.src = image;
  chosen.hidden = false;
}

// The fields of the decoding options, as the server describes them.
function drawSearch(studio) {
  const fields = make("span", { class: "fields" });
  const set = (changes) => { // a new object: an earlier request keeps its own
    studio.request = { ...studio.request, search: { ...studio.request.search, ...changes } };
  };
  const show = () => {
    const { search } = studio.request;
    fields.replaceChildren(...listOptions(studio, search.kind).map((option) => drawOption(option, search, set)));
  };
  const kind = drawKinds("Search", studio.request.search.kind, (chosen) => {
    set({ kind: chosen });
    show();
  });
  show();
  return make("details", { class: "search", open: studio.request.search.kind === "configured" ? null : "" },
    make("summary", {}, "Decoding options"), make("div", { class: "controls" }, kind, fields));
}

function drawKinds(label, kind, onKind) {
  return makeSelect(label, SEARCHES.map(([, name]) => name), (index) => onKind(SEARCH_KINDS[index]), SEARCH_KINDS.indexOf(kind));
}

// The options that have an effect on this run and search.
function listOptions(studio, kind, model = studio.request.model) {
  const { attention, source } = findModel(studio, model) ?? {};
  const has = { attention, words: attention && source === "text", nothing: true };
  return studio.options.filter(({ searches, needs }) => searches.includes(kind) && has[needs]);
}

const READERS = { // the value of a field, from its text
  integer: Number,
  number: Number,
  choice: (text) => text,
  words: (text) => text.split(",").map((word) => word.trim()).filter(Boolean),
  dictionary: (text) => Object.fromEntries(text.split(",").map((pair) => pair.split("=").map((word) => word.trim())).filter(([source, target]) => source && target)),
};
const WRITERS = {
  words: (words) => words.join(", "),
  dictionary: (words) => Object.entries(words).map((pair) => pair.join("=")).join(", "),
};

function drawOption(option, search, set) {
  const { name, title, help, kind } = option;
  const tell = (field) => make("span", { class: "option" }, field, make("small", { class: "help", id: `help-${name}` }, help));
  if (kind === "boolean") return tell(makeSwitch(title, search[name] ?? false, (value) => set({ [name]: value || undefined })));
  const box = drawBox(option);
  const value = search[name];
  box.value = value === undefined ? "" : (WRITERS[kind] ?? String)(value);
  box.addEventListener("input", () => set({ [name]: box.value.trim() === "" ? undefined : READERS[kind](box.value) }));
  box.setAttribute("aria-describedby", `help-${name}`);
  return tell(make("label", { class: "choice" }, title, box));
}

function drawBox({ name, kind, choices, minimum, maximum }) {
  if (kind === "choice") return make("select", { name }, ...["", ...choices].map((choice) => make("option", { value: choice }, choice || "–")));
  if (kind === "words") return make("input", { type: "text", name, placeholder: "words, between commas", dir: "auto" });
  if (kind === "dictionary") return make("input", { type: "text", name, placeholder: "source=target, ...", dir: "auto" });
  return make("input", { type: "number", min: minimum, max: maximum, step: kind === "integer" ? 1 : "any", name, placeholder: "–" });
}

// Decoding options as a request has them.
function packSearch(studio, { kind, ...values }, model) {
  const given = listOptions(studio, kind, model).filter(({ name }) => values[name] !== undefined);
  const body = Object.fromEntries(given.map(({ name }) => [name, values[name]]));
  if (kind === "greedy") body.beam = 1;
  if (kind === "beam" || kind === "mbr") body.beam ??= 5;
  if (kind === "mbr") body.mbr_power ??= 1;
  if (kind === "beam") body.mbr_power = 0; // also where the run is configured otherwise
  if (kind === "sample") body.temperature ??= 1;
  return body;
}

// What can be done with an answer.
function drawTools(studio) {
  const copy = make("button", { type: "button" }, "Copy JSON");
  copy.addEventListener("click", async () => report(studio, (await copyText(JSON.stringify(studio.results))) ? "Copied." : "The browser does not permit copying."));
  const save = make("button", { type: "button" }, "Save as one HTML file");
  save.addEventListener("click", () => savePage(studio));
  return [copy, save];
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", {});
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

async function savePage(studio) {
  try {
    const page = await (await send("/v1/page", { views: studio.plan.map(({ body }) => body) })).blob();
    const link = make("a", { href: URL.createObjectURL(page), download: "seq2see.html" });
    link.click();
    URL.revokeObjectURL(link.href);
    report(studio, "Saved.");
  } catch (error) {
    report(studio, error.message, true);
  }
}
