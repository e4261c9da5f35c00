// The page of the server: a question, its answer as it is written, and everything there is to see of it.

const FRESH = { model: null, text: "", search: { way: "as configured" }, prefix_ids: null, prefix: null, changes: [], leave_out: false };

function drawStudio(payload) {
  const studio = { models: [], question: FRESH, before: null, against: null, look: {}, results: [], plan: [], turn: 0 };
  studio.top = make("div", {});
  studio.status = make("p", { class: "status", role: "status", "aria-live": "polite" });
  studio.spoken = make("p", { class: "spoken", dir: "auto", "aria-label": "Output, as it is written" });
  studio.meddling = make("details", { class: "whatif", hidden: "" });
  studio.views = make("div", {});
  window.addEventListener("hashchange", () => restore(studio) && redraw(studio));
  begin(studio);
  const about = make("p", { class: "quiet about" }, "Give a model something to read; see what it writes, and what it looks at for each token. ",
    "Programs ask by ", make("a", { href: "docs" }, "the API"), ".");
  return [make("h1", { class: "small-title" }, payload.title), about, studio.top, studio.status, studio.spoken, studio.meddling, studio.views];
}

async function begin(studio) {
  try {
    const { models, bounds } = await ask("/v1/models");
    Object.assign(studio, { models, bounds });
    studio.question = { ...FRESH, model: (models.find((model) => !model.error) ?? models[0])?.name ?? null };
    restore(studio);
    redraw(studio);
    tell(studio, models.length ? "" : "No run is served yet.");
  } catch (error) {
    if (error.status === 401) askForToken(studio);
    else tell(studio, error.message, true);
  }
}

function askForToken(studio) {
  const box = make("input", { type: "password", id: "token", autocomplete: "off" });
  const form = make("form", { class: "ask" }, make("label", { for: "token" }, "This server wants a token "), box,
    make("button", { type: "submit", class: "primary" }, "Enter"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("seq2see-token", box.value);
    begin(studio);
  });
  if (sessionStorage.getItem("seq2see-token")) tell(studio, "That token is not the right one.", true);
  studio.top.replaceChildren(form);
  box.focus();
}

function redraw(studio) {
  studio.top.replaceChildren(drawForm(studio));
  if (studio.question.text) write(studio);
}

function tell(studio, sentence, wrong = false) {
  studio.status.replaceChildren(sentence);
  studio.status.classList.toggle("wrong", wrong);
  studio.status.setAttribute("role", wrong ? "alert" : "status");
}

// A new question: nothing of an old what-if stays.
function restart(studio, text) {
  studio.before = null;
  studio.question = { ...studio.question, text, prefix_ids: null, prefix: null, changes: [] };
  write(studio);
}

// Another run, which may read something else.
function changeRun(studio, model) {
  studio.question = { ...studio.question, model };
  studio.top.replaceChildren(drawForm(studio));
  if (readsPictures(studio, model) ? studio.image : studio.question.text) restart(studio, studio.question.text);
}

function readsPictures(studio, name) {
  return studio.models.find((model) => model.name === name)?.source === "image";
}

function writesText(studio, name) {
  return studio.models.find((model) => model.name === name)?.writes !== "label";
}

// A what-if: the question as it was stays beside the changed one.
function wonder(studio, asked, fields) {
  studio.before ??= asked;
  studio.question = { ...asked, ...fields };
  if (studio.text) studio.text.value = studio.question.text;
  write(studio);
}

function settle(studio, question) {
  Object.assign(studio, { question, before: null });
  studio.text.value = question.text;
  write(studio);
}

// The views to show, each with the question it answers.
function planViews(studio) {
  const { question, before, against } = studio;
  const views = before ? [["before", before], ["after", question]] : [[question.model, question]];
  if (against) views.push([against, { ...question, model: against, prefix_ids: null, changes: [] }]);
  return views.map(([name, each]) => ({ name: views.length > 1 ? name : null, question: each, body: pack(studio, each) }));
}

function pack(studio, { model, text, search, prefix_ids, prefix, changes, leave_out }) {
  const source = readsPictures(studio, model) ? { image: studio.image } : { text };
  const body = { model, ...source, choices: 8, history: true };
  if (writesText(studio, model)) { // a label is neither searched for nor begun
    Object.assign(body, packSearch(search));
    if (prefix_ids) body.prefix_ids = prefix_ids;
    if (prefix) body.prefix = prefix;
  }
  if (changes.length) body.changes = changes;
  if (leave_out) body.leave_out = true;
  return body;
}

async function write(studio) {
  const missing = readsPictures(studio, studio.question.model) ? !studio.image : !studio.question.text.trim();
  if (missing) return tell(studio, readsPictures(studio, studio.question.model) ? "Choose a picture first." : "Type something first.");
  remember(studio);
  studio.turn += 1;
  studio.abort?.abort(); // hanging up tells the server that nobody waits
  studio.abort = new AbortController();
  const { turn, abort: { signal } } = studio;
  const plan = planViews(studio);
  tell(studio, "Writing …");
  try {
    if (!studio.before) await speak(studio, plan[0].body, signal);
    const results = await Promise.all(plan.map(({ body }) => ask("/v1/explain", body, signal)));
    if (turn !== studio.turn) return;
    Object.assign(studio, { plan, results });
    show(studio);
    tell(studio, "");
  } catch (error) {
    if (error.name === "AbortError" || turn !== studio.turn) return;
    tell(studio, error.message, true);
    if (error.status === 401) askForToken(studio);
  }
}

// The output token by token, each with its probability; what a beam has only drafted is faint.
async function speak(studio, { choices, history, changes, leave_out, ...body }, signal) {
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
      showMeddling(studio);
    },
    onToken: (index, token) => askToken(studio, studio.plan[index].question, studio.results[index], token),
  }));
  studio.tools.forEach((button) => { button.disabled = false; });
  showMeddling(studio);
}

function showMeddling(studio) {
  const content = drawMeddling(studio);
  studio.meddling.hidden = !content.length;
  if (studio.before) studio.meddling.open = true;
  studio.meddling.replaceChildren(make("summary", {}, "What if a token, a head or the search were another?"), ...content, ...listChanges(studio));
}

// The whole state is in the address, so that it can be kept and sent.
function remember(studio) {
  const { question, before, against, look } = studio;
  const hash = `#${encodeURIComponent(JSON.stringify({ question, before, against, look }))}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

function restore(studio) {
  try {
    const { question, before, against, look } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    const whole = (each) => (each ? { ...FRESH, ...each, search: { ...FRESH.search, ...each.search } } : null);
    Object.assign(studio, { question: whole(question) ?? studio.question, before: whole(before), against: against ?? null, look: look ?? {} });
    return true;
  } catch {
    return false; // an address without a state, or with one of another kind
  }
}
