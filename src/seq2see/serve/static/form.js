// The form: which run, which input, how outputs are found.

const WAYS = ["as configured", "greedy", "beam", "sample"];
// name, label, what it goes with, least, step
const NUMBERS = [
  ["beam", "Width", ["beam"], 1, 1],
  ["n_best", "Outputs", ["beam", "sample"], 1, 1],
  ["length_penalty", "Length penalty", ["beam"], 0, 0.1],
  ["coverage_penalty", "Coverage penalty", ["beam"], 0, 0.1],
  ["consensus", "Consensus", ["beam"], 0, 0.5],
  ["witnesses", "Witnesses", ["beam"], 0, 1],
  ["precision", "Precision", ["beam"], 0, 0.1],
  ["temperature", "Temperature", ["sample"], 0.01, 0.01],
  ["seed", "Seed", ["sample"], 0, 1],
  ["min_length", "Least tokens", WAYS, 0, 1],
  ["max_length", "Most tokens", WAYS, 1, 1],
  ["no_repeat", "No n-gram twice", WAYS, 0, 1],
];

function drawForm(studio) {
  const names = studio.models.map((model) => (model.error ? `${model.name} (broken)` : model.name));
  const form = make("form", { class: "ask" });
  const text = make("textarea", { id: "text", rows: 3, spellcheck: "false", dir: "auto", placeholder: "Type a text and press Enter" });
  const place = (name) => Math.max(studio.models.findIndex((model) => model.name === name), 0);
  const run = makeSelect("Run", names, (index) => changeRun(studio, studio.models[index].name), place(studio.question.model));
  const other = makeSelect("Compare with", ["nothing", ...names], (index) => {
    studio.against = index ? studio.models[index - 1].name : null;
    write(studio);
  }, studio.against === null ? 0 : place(studio.against) + 1);
  text.value = studio.question.text;
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    restart(studio, text.value);
  });
  const model = studio.models[place(studio.question.model)];
  const button = make("button", { type: "submit", class: "primary" }, model?.writes === "label" ? "Label" : "Write");
  const input = model?.source === "image" ? drawUpload(studio) : [make("label", { class: "name", for: "text" }, "Input"), text];
  form.append(make("div", { class: "controls" }, run, other, drawLeaveOut(studio, model), tellRun(model)), ...input, model?.writes === "label" ? "" : drawSearch(studio),
    make("div", { class: "buttons" }, button, ...drawTools(studio)));
  studio.text = text;
  return form;
}

// Whether attention is honest: what the output loses when each word of the source is left out in turn.
function drawLeaveOut(studio, model) {
  const parts = model?.source === "image" ? "region" : "word";
  return makeSwitch(`Leave out each ${parts} in turn`, studio.question.leave_out, (leave_out) => {
    studio.question = { ...studio.question, leave_out };
    if (studio.before) studio.before = { ...studio.before, leave_out };
    if (studio.question.text || studio.image) write(studio);
  });
}

// What a run is, in a few words.
function tellRun(model) {
  if (!model || model.error) return null;
  const size = Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 2 }).format(model.parameters);
  const reads = { text: "reads a text", image: "reads a picture", document: "reads a document" }[model.source];
  return make("span", { class: "quiet" }, `${model.preset ?? "a model of its own"}, ${size} parameters, ${reads}`);
}

// A picture instead of a text; it is too large for the address, so a link does not hold it.
function drawUpload(studio) {
  const file = make("input", { type: "file", id: "image", accept: "image/*" });
  file.addEventListener("change", () => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      studio.image = reader.result;
      restart(studio, "");
    });
    if (file.files[0]) reader.readAsDataURL(file.files[0]);
  });
  const field = make("div", { class: "drop" }, file, make("span", { class: "quiet" }, "or drop a picture here"));
  field.addEventListener("dragover", (event) => event.preventDefault());
  field.addEventListener("drop", (event) => {
    event.preventDefault();
    file.files = event.dataTransfer.files;
    file.dispatchEvent(new Event("change"));
  });
  return [make("label", { class: "name", for: "image" }, "Picture"), field];
}

function drawSearch(studio) {
  const fields = make("span", { class: "fields" });
  const set = (changes) => { // a new object: what was asked before keeps its own
    studio.question = { ...studio.question, search: { ...studio.question.search, ...changes } };
  };
  const show = () => {
    const { search } = studio.question;
    const fitting = NUMBERS.filter(([, , ways]) => ways.includes(search.way));
    fields.replaceChildren(...fitting.map((number) => drawNumber(search, number, set)), drawBan(search, set));
  };
  const way = makeSelect("Search", WAYS, (index) => {
    set({ way: WAYS[index] });
    show();
  }, WAYS.indexOf(studio.question.search.way));
  show();
  return make("details", { class: "search", open: studio.question.search.way === WAYS[0] ? null : "" },
    make("summary", {}, "How outputs are searched"), make("div", { class: "controls" }, way, fields));
}

function drawNumber(search, [name, label, , least, step], set) {
  const box = make("input", { type: "number", min: least, step: step < 1 ? "any" : step, name, placeholder: "–" });
  box.value = search[name] ?? "";
  box.addEventListener("input", () => set({ [name]: box.value === "" ? undefined : Number(box.value) }));
  return make("label", { class: "choice" }, label, box);
}

function drawBan(search, set) {
  const box = make("input", { type: "text", name: "ban", placeholder: "words, between commas", dir: "auto" });
  box.value = (search.ban ?? []).join(", ");
  box.addEventListener("input", () => set({ ban: box.value.split(",").map((word) => word.trim()).filter(Boolean) }));
  return make("label", { class: "choice" }, "Never write", box);
}

// A search as the server is asked for it.
function packSearch({ way, temperature, seed, ...numbers }) {
  const fits = (name) => name === "ban" || NUMBERS.some(([each, , ways]) => each === name && ways.includes(way));
  const body = Object.fromEntries(Object.entries(numbers).filter(([name, value]) => fits(name) && value !== undefined));
  if (body.ban && !body.ban.length) delete body.ban;
  if (way === "greedy") body.beam = 1;
  if (way === "beam") body.beam ??= 5;
  if (way === "sample") body.sample = Object.fromEntries(Object.entries({ temperature, seed }).filter(([, value]) => value !== undefined));
  return body;
}

function drawTools(studio) {
  const copy = make("button", { type: "button" }, "Copy JSON");
  copy.addEventListener("click", async () => tell(studio, (await copyText(JSON.stringify(studio.results))) ? "Copied." : "The browser does not permit copying."));
  const save = make("button", { type: "button" }, "Save as one HTML file");
  save.addEventListener("click", () => savePage(studio));
  studio.tools = [copy, save];
  studio.tools.forEach((button) => { button.disabled = true; });
  return studio.tools;
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
    tell(studio, "Saved.");
  } catch (error) {
    tell(studio, error.message, true);
  }
}
