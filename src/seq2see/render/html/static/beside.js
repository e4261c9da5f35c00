// Several traces side by side: before and after a change, or one input in several runs, with what differs marked.

function drawBeside(views, options = {}) {
  document.getElementById("seq2see").classList.toggle("wide", views.length > 1);
  const [first] = views;
  const traces = [];
  const share = (index) => (state) => { // what is chosen in one is shown in all
    traces.forEach((each, place) => place !== index && each.follow?.(state));
    options.onState?.(state);
  };
  const columns = views.map((view, index) => {
    const onToken = options.onToken && ((token) => options.onToken(index, token));
    traces[index] = showTrace(view.trace, { state: options.state, onState: share(index), onToken });
    return drawColumn(view, index, traces[index]);
  });
  const changes = views.slice(1).map((view, index) => drawChanges(first, view, index + 1));
  return make("div", {}, ...changes, make("div", { class: views.length > 1 ? "beside" : "single" }, ...columns));
}

function drawColumn(view, index, drawn) {
  const { score, finished } = view.trace;
  const told = score === null || score === undefined || view.trace.probabilities ? "" : `score ${score.toFixed(4)} (0 is certain)`;
  const notes = [told, finished === false ? "cut at the longest length" : "", view.note].filter(Boolean).join("; ");
  const heading = view.name && make("h2", { class: "heading" }, tone(make("span", { class: "key", dir: "auto" }, view.name), index));
  return make("section", { class: "output", "data-view": index }, heading, notes ? make("p", { class: "quiet small" }, notes) : null, drawn);
}

// What became of the texts of the first view in another one.
function drawChanges(first, view, index) {
  const name = tone(make("span", { class: "key", dir: "auto" }, view.name), index);
  const texts = ["source", "target"].map((side) => drawChange(SIDES[side], first.trace[side], view.trace[side]));
  return make("section", { class: "changes" }, make("h2", { class: "heading" }, make("bdi", {}, first.name), " → ", name), ...texts);
}

// One line that says what became of a text.
function drawChange(name, before, after) {
  const content = before === after ? [make("span", { class: "quiet" }, before, " (the same)")]
    : diffWords(before, after).map(([kind, text]) => (kind === "same" ? text : make(kind === "gone" ? "del" : "ins", {}, text)));
  return make("p", { class: "change" }, make("span", { class: "name" }, name), make("span", { class: "text", dir: "auto" }, ...content));
}

// The shortest way from one text to another, in words and spaces.
function diffWords(before, after) {
  const cut = (text) => text.match(/\s+|[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]/gu) ?? [];
  const [a, b] = [cut(before), cut(after)];
  const longest = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const steps = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      steps.push(["same", a[i]]);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) steps.push(["gone", a[i++]]);
    else steps.push(["new", b[j++]]);
  }
  return joinSteps(steps);
}

function joinSteps(steps) {
  const joined = [];
  for (const [kind, text] of steps) {
    if (joined.length && joined.at(-1)[0] === kind) joined.at(-1)[1] += text;
    else joined.push([kind, text]);
  }
  return joined;
}
