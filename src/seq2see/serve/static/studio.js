// The page of the server: a request, its output as it is streamed, and the attention behind it.

const FRESH = { model: null, text: "", search: { kind: "configured" }, prefix_ids: null, prefix: null, interventions: [], leave_one_out: null };

function drawStudio(payload) {
  const studio = { models: [], options: [], request: FRESH, before: null, against: null, look: {}, results: [], plan: [] };
  document.getElementById("seq2see").classList.add("live");
  studio.top = make("div", {});
  studio.status = make("p", { class: "status", role: "status", "aria-live": "polite" });
  studio.spoken = make("p", { class: "spoken", dir: "auto", "aria-label": "Output, as it is written" });
  studio.interventions = make("details", { class: "whatif", hidden: "" });
  studio.examples = make("div", { class: "greeting" });
  studio.views = make("section", { class: "answer", "aria-label": "Output and attention" });
  studio.tools = make("div", { class: "buttons tools", hidden: "" }, ...drawTools(studio));
  studio.lines = make("div", { class: "all-lines" });
  studio.sheet = make("div", { class: "studio" },
    make("div", { class: "asking" }, studio.top, studio.status, studio.spoken, studio.examples, studio.interventions),
    make("div", { class: "showing" }, studio.views, studio.tools, studio.lines));
  window.addEventListener("hashchange", () => restore(studio) && enter(studio));
  begin(studio);
  const about = make("p", { class: "quiet about" }, make("span", {}, "What does a model look at for each token that it writes? Programs ask by "), make("a", { href: "docs" }, "the API"));
  return [make("header", { class: "masthead" }, make("h1", {}, "seq2see"), about), studio.sheet];
}

async function begin(studio) {
  try {
    const { models, options, bounds } = await readModels(studio);
    Object.assign(studio, { models, options, bounds });
    studio.request = { ...FRESH, model: nameDefault(models) };
    restore(studio);
    enter(studio);
  } catch (error) {
    if (error.status === 401) showTokenForm(studio);
    else report(studio, error.message, true);
  }
}

// Shows what the address asks for, as far as its runs are served.
function enter(studio) {
  const { models } = studio;
  const missing = nameMissing(studio);
  report(studio, missing ?? (models.length ? "" : "No run is served yet."), missing !== null);
  if (missing) Object.assign(studio, { request: { ...FRESH, model: nameDefault(models), text: studio.request.text }, before: null, against: null });
  redraw(studio);
  if (studio.request.text && !missing) write(studio);
}

function nameDefault(models) {
  return (models.find((model) => !model.error) ?? models[0])?.name ?? null;
}

// What to say if the address names a run that is not served; nothing is asked of another run instead.
function nameMissing({ models, request, before, against }) {
  const lost = [request.model, before?.model, against].find((name) => name && !models.some((model) => model.name === name));
  if (!lost || !models.length) return null;
  return `The run ${lost} of this address is not served here; this is ${nameDefault(models)}.`;
}

// The runs, as soon as one of them is loaded or known to be broken.
async function readModels(studio) {
  for (;;) {
    const found = await callApi("/v1/models");
    if (!found.models.length || found.models.some((model) => !model.loading)) return found;
    report(studio, "Loading the run …");
    await new Promise((done) => { setTimeout(done, 500); });
  }
}

function showTokenForm(studio) {
  const box = make("input", { type: "password", id: "token", autocomplete: "off" });
  const form = make("form", { class: "ask" }, make("label", { for: "token" }, "This server wants a token "), box,
    make("button", { type: "submit", class: "primary" }, "Enter"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("seq2see-token", box.value);
    begin(studio);
  });
  if (sessionStorage.getItem("seq2see-token")) report(studio, "That token is not the right one.", true);
  studio.top.replaceChildren(form);
  box.focus();
}

function redraw(studio) {
  studio.top.replaceChildren(drawForm(studio));
  nameWindow(studio);
  greet(studio);
}

// The title of the window says what is to be seen, for tabs, bookmarks and screen readers.
function nameWindow({ request, results }) {
  const cut = (text) => (Array.from(text).length > 60 ? `${Array.from(text).slice(0, 60).join("")}…` : text);
  const shown = results.length ? [`${cut(results[0].source)} → ${cut(results[0].target)}`] : [];
  document.title = [...shown, ...(request.model ? [request.model] : []), "seq2see"].join(" · ");
}

function report(studio, sentence, wrong = false) {
  studio.status.replaceChildren(sentence);
  studio.status.classList.toggle("wrong", wrong);
  studio.status.setAttribute("role", wrong ? "alert" : "status");
}

// A new request: nothing of an old what-if stays.
function restart(studio, text) {
  studio.before = null;
  studio.request = { ...studio.request, text, prefix_ids: null, prefix: null, interventions: [] };
  write(studio);
}

// Another run, which may read something else.
function changeRun(studio, model) {
  Object.assign(studio, { request: { ...studio.request, model }, results: [], plan: [], against: null });
  clearViews(studio);
  studio.top.replaceChildren(drawForm(studio));
  nameWindow(studio);
  greet(studio);
  if (readsImages(studio, model) ? studio.image : studio.request.text) restart(studio, studio.request.text);
}

// Nothing of another run stays while this one is asked, and nothing of it comes later.
function clearViews(studio) {
  studio.abort?.abort();
  report(studio, "");
  studio.views.replaceChildren();
  studio.spoken.replaceChildren();
  studio.interventions.hidden = studio.tools.hidden = true;
  studio.sheet.classList.remove("answered", "several");
}

function readsImages(studio, name) {
  return findModel(studio, name)?.source === "image";
}

function writesText(studio, name) {
  return findModel(studio, name)?.writes !== "label";
}

// A what-if: the request as it was stays beside the changed one.
function changeRequest(studio, base, fields) {
  studio.before ??= base;
  studio.request = { ...base, ...fields };
  if (studio.text) studio.text.value = studio.request.text;
  write(studio);
}

function keepRequest(studio, request) {
  Object.assign(studio, { request, before: null });
  studio.text.value = request.text;
  write(studio);
}

// The views to show, each with the request it answers.
function planViews(studio) {
  const { request, before, against } = studio;
  const views = before ? [["before", before], ["after", request]] : [[request.model, request]];
  if (against) views.push([against, { ...request, model: against, prefix_ids: null, interventions: [] }]);
  return views.map(([name, each]) => ({ name: views.length > 1 ? name : null, request: each, body: pack(studio, each) }));
}

function pack(studio, { model, text, search, prefix_ids, prefix, interventions, leave_one_out }) {
  const source = readsImages(studio, model) ? { image: studio.image } : { text };
  const body = { model, ...source, top_tokens: 8, history: true };
  if (writesText(studio, model)) { // a label has no decoding options and no prefix
    Object.assign(body, packSearch(studio, search, model));
    if (prefix_ids) body.prefix_ids = prefix_ids;
    if (prefix) body.prefix = prefix;
  }
  if (interventions.length) body.interventions = interventions;
  if (leave_one_out !== null) body.leave_one_out = leave_one_out; // null: where the run's attention hardly agrees with it
  return body;
}

async function write(studio) {
  const missing = readsImages(studio, studio.request.model) ? !studio.image : !studio.request.text.trim();
  if (missing) return report(studio, readsImages(studio, studio.request.model) ? "Choose an image first." : "Type something first.");
  remember(studio);
  studio.abort?.abort(); // hanging up tells the server that nobody waits
  studio.abort = new AbortController();
  const { signal } = studio.abort;
  const plan = planViews(studio);
  report(studio, `${nameAction(studio)[1]} …`);
  try {
    if (!studio.before) await showStream(studio, plan[0].body, signal);
    const results = await Promise.all(plan.map(({ body }) => callApi("/v1/explain", body, signal)));
    Object.assign(studio, { plan, results });
    show(studio);
    report(studio, "");
  } catch (error) {
    if (signal.aborted) return;
    studio.spoken.hidden = !studio.spoken.querySelector(".said");
    report(studio, error.message, true);
    if (error.status === 401) showTokenForm(studio);
  }
}

// The output token by token, each with its probability; what a beam has only drafted is faint.
async function showStream(studio, { top_tokens, history, interventions, leave_one_out, ...body }, signal) {
  const draft = make("span", { class: "draft" });
  studio.spoken.hidden = false;
  studio.spoken.replaceChildren(draft);
  let certain = 0;
  await stream("/v1/predict/stream", body, signal, (name, data) => {
    if (name === "token") {
      const gap = data.start > certain ? " " : "";
      const kind = data.start === data.end ? "said mark" : "said";
      const token = make("span", { class: kind, title: `${(100 * data.confidence).toFixed(2)} %` }, showText(data.text),
        make("small", { class: "confidence" }, formatShare(data.confidence)));
      draft.before(gap, token);
      certain = data.end;
      draft.textContent = "";
    }
    if (name === "draft") draft.textContent = Array.from(data.text).slice(data.certain).join("");
  });
  draft.remove();
}

function show(studio) {
  const views = studio.results.map((trace, index) => ({ name: studio.plan[index].name, trace }));
  studio.spoken.hidden = true; // the views have the same text, with what belongs to it
  studio.sheet.classList.add("answered");
  studio.sheet.classList.toggle("several", views.length > 1);
  foldForm(studio, views.length > 1);
  nameWindow(studio);
  studio.views.replaceChildren(drawBeside(views, {
    state: studio.look,
    onState: (state) => {
      studio.look = state;
      remember(studio);
      showInterventions(studio);
    },
    onToken: (index, token) => editToken(studio, studio.plan[index].request, studio.results[index], token),
  }));
  studio.tools.hidden = false;
  showInterventions(studio);
  fitAll();
}

// What was answered comes first: options, examples and lines fold, and open with a click.
function foldForm(studio, several) {
  studio.fold.open = false;
  const [examples, lines] = [studio.examples, studio.lines].map((each) => each.querySelector("details"));
  if (lines) lines.open = false;
  if (examples && (several || !wide.matches)) examples.open = false;
}

function showInterventions(studio) {
  const content = drawInterventions(studio);
  studio.interventions.hidden = !content.length;
  if (studio.before) studio.interventions.open = true;
  studio.interventions.replaceChildren(make("summary", {}, nameWhatIf(studio)), ...content, ...listInterventions(studio));
}

// What can be changed of this run and its answer.
function nameWhatIf({ results: [trace] }) {
  const parts = [trace.source_tokens?.some((token) => token.start < token.end) ? "a token" : null, trace.maps?.length ? "a head" : null, trace.probabilities ? null : "the search"].filter(Boolean);
  const last = parts.pop();
  return `What if ${[parts.join(", "), last].filter(Boolean).join(" or ")} were another?`;
}

// The whole state is in the address, so that it can be kept and sent.
function remember(studio) {
  const { request, before, against, look } = studio;
  const hash = `#${encodeURIComponent(JSON.stringify({ request, before, against, look }))}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

function restore(studio) {
  try {
    const { request, before, against, look } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    const whole = (each) => (each ? { ...FRESH, ...each, search: { ...FRESH.search, ...each.search } } : null);
    Object.assign(studio, { request: whole(request) ?? studio.request, before: whole(before), against: against ?? null, look: look ?? {} });
    return true;
  } catch {
    return false; // an address without a state, or with one of another kind
  }
}
