// The page of the server: a request, its output as it is streamed, and the attention behind it.

const FRESH = { model: null, text: "", search: { kind: "configured" }, prefix_ids: null, prefix: null, interventions: [], leave_one_out: false };

function drawStudio(payload) {
  const studio = { models: [], options: [], request: FRESH, before: null, against: null, look: {}, results: [], plan: [], turn: 0 };
  studio.top = make("div", {});
  studio.status = make("p", { class: "status", role: "status", "aria-live": "polite" });
  studio.spoken = make("p", { class: "spoken", dir: "auto", "aria-label": "Output, as it is written" });
  studio.interventions = make("details", { class: "whatif", hidden: "" });
  studio.views = make("div", {});
  window.addEventListener("hashchange", () => restore(studio) && redraw(studio));
  begin(studio);
  const about = make("p", { class: "quiet about" }, "Give a model something to read; see what it writes, and what it looks at for each token. ",
    "Programs ask by ", make("a", { href: "docs" }, "the API"), ".");
  return [make("h1", { class: "small-title" }, payload.title), about, studio.top, studio.status, studio.spoken, studio.interventions, studio.views];
}

async function begin(studio) {
  try {
    const { models, options, bounds } = await callApi("/v1/models");
    Object.assign(studio, { models, options, bounds });
    studio.request = { ...FRESH, model: (models.find((model) => !model.error) ?? models[0])?.name ?? null };
    restore(studio);
    redraw(studio);
    report(studio, models.length ? "" : "No run is served yet.");
  } catch (error) {
    if (error.status === 401) showTokenForm(studio);
    else report(studio, error.message, true);
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
  if (studio.request.text) write(studio);
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
  studio.request = { ...studio.request, model };
  studio.top.replaceChildren(drawForm(studio));
  if (readsImages(studio, model) ? studio.image : studio.request.text) restart(studio, studio.request.text);
}

function readsImages(studio, name) {
  return studio.models.find((model) => model.name === name)?.source === "image";
}

function writesText(studio, name) {
  return studio.models.find((model) => model.name === name)?.writes !== "label";
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
    Object.assign(body, packSearch(studio, search));
    if (prefix_ids) body.prefix_ids = prefix_ids;
    if (prefix) body.prefix = prefix;
  }
  if (interventions.length) body.interventions = interventions;
  if (leave_one_out) body.leave_one_out = true;
  return body;
}

async function write(studio) {
  const missing = readsImages(studio, studio.request.model) ? !studio.image : !studio.request.text.trim();
  if (missing) return report(studio, readsImages(studio, studio.request.model) ? "Choose an image first." : "Type something first.");
  remember(studio);
  studio.turn += 1;
  studio.abort?.abort(); // hanging up tells the server that nobody waits
  studio.abort = new AbortController();
  const { turn, abort: { signal } } = studio;
  const plan = planViews(studio);
  report(studio, "Writing …");
  try {
    if (!studio.before) await showStream(studio, plan[0].body, signal);
    const results = await Promise.all(plan.map(({ body }) => callApi("/v1/explain", body, signal)));
    if (turn !== studio.turn) return;
    Object.assign(studio, { plan, results });
    show(studio);
    report(studio, "");
  } catch (error) {
    if (error.name === "AbortError" || turn !== studio.turn) return;
    report(studio, error.message, true);
    if (error.status === 401) showTokenForm(studio);
  }
}

// The output token by token, each with its probability; what a beam has only drafted is faint.
async function showStream(studio, { top_tokens, history, interventions, leave_one_out, ...body }, signal) {
  const draft = make("span", { class: "draft" });
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
  studio.spoken.hidden = studio.before !== null;
  studio.views.replaceChildren(drawBeside(views, {
    state: studio.look,
    onState: (state) => {
      studio.look = state;
      remember(studio);
      showInterventions(studio);
    },
    onToken: (index, token) => editToken(studio, studio.plan[index].request, studio.results[index], token),
  }));
  studio.tools.forEach((button) => { button.disabled = false; });
  showInterventions(studio);
}

function showInterventions(studio) {
  const content = drawInterventions(studio);
  studio.interventions.hidden = !content.length;
  if (studio.before) studio.interventions.open = true;
  studio.interventions.replaceChildren(make("summary", {}, "What if a token, a head or the search were another?"), ...content, ...listInterventions(studio));
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
