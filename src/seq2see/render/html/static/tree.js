// The beam as a tree: a column for each step, the likeliest on top; what was left out is grey, below a line.

const STEP = 124; // pixels from one token to the next
const ROW = 26; // pixels from one branch to the next

function showTree(view) {
  const { nodes, best } = view.trace.history;
  const holder = make("div", { class: "scroller tree", tabindex: 0 });
  const draw = (all) => holder.replaceChildren(drawTree(view, nodes, best, all));
  const left = nodes.filter((node) => !node.kept).length;
  draw(true);
  view.say = () => [`${byHand.matches ? "Tap" : "Point at"} a token of the tree to see how likely it was.`];
  const key = "Each column is a step, the likeliest beginnings on top. The output is blue, "
    + "what the beam left out is faint; numbers are scores of outputs.";
  return [make("div", { class: "controls" }, makeSwitch(`Show the ${left} it left out`, true, draw)),
    make("p", { class: "quiet small" }, key), holder, listOutputs(nodes, best)];
}

function drawTree(view, nodes, best, all) {
  const path = new Set();
  for (let at = best; at !== null && at !== undefined; at = nodes[at].parent) path.add(at);
  const places = placeNodes(nodes, all);
  const most = (way) => Math.max(...[...places.values()].map((place) => place[way])) + 1;
  const [width, height] = [most("x") * STEP + 40, most("y") * ROW + 10];
  const ended = nodes.filter((node) => node.score !== null).length;
  const label = `The tree of the beam: ${nodes.length} continuations, ${ended} outputs; the table below lists them.`;
  const svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const [index, place] of places) svg.append(...drawBranch(view, nodes[index], index, place, places, path));
  return svg;
}

// A column for each step; in it what was kept, then what was left out, each by its log-probability.
function placeNodes(nodes, all) {
  const steps = [];
  const depths = nodes.map(() => 0);
  nodes.forEach((node, index) => {
    depths[index] = node.parent === null ? 0 : depths[node.parent] + 1;
    if (all || node.kept) (steps[depths[index]] ??= []).push(index);
  });
  const places = new Map();
  const kept = Math.max(...steps.map((step) => step.filter((index) => nodes[index].kept).length));
  steps.forEach((step, x) => {
    step.sort((a, b) => nodes[b].kept - nodes[a].kept || nodes[b].total - nodes[a].total);
    const first = step.filter((index) => nodes[index].kept).length;
    step.forEach((index, y) => places.set(index, { x, y: y < first ? y : y - first + kept }));
  });
  return places;
}

function drawBranch(view, node, index, { x, y }, places, path) {
  const kind = path.has(index) ? "best" : node.kept ? "kept" : "left";
  const [left, top] = [x * STEP + 14, y * ROW + 18];
  const parts = [];
  if (node.parent !== null) {
    const from = places.get(node.parent);
    const [px, py] = [from.x * STEP + STEP - 22, from.y * ROW + 14];
    parts.push(makeSvg("path", { class: `branch ${kind}`, d: `M${px} ${py}C${px + 18} ${py} ${left - 22} ${top - 4} ${left - 4} ${top - 4}` }));
  }
  const text = makeSvg("text", { class: `leaf ${kind}`, x: left, y: top }, shortenLabel(showText(node.text), 9));
  text.append(makeSvg("title", {}, tellNode(node)));
  text.dataset.node = index;
  if (node.score !== null) text.append(makeSvg("tspan", { class: "points", dx: 5 }, node.score.toFixed(3)));
  text.addEventListener("mouseenter", () => view.readout.replaceChildren(tellNode(node)));
  return [...parts, text];
}

function tellNode(node) {
  const fate = node.score !== null ? `an output with score ${node.score.toFixed(4)}` : node.kept ? "kept" : "left out";
  const chance = (100 * Math.exp(node.logprob)).toPrecision(3);
  return `${showText(node.text)}: ${chance} % likely after what stands before it; log-probability of all so far ${node.total.toFixed(4)}; ${fate}`;
}

function shortenLabel(text, limit) {
  const letters = Array.from(text);
  return letters.length <= limit ? text : letters.slice(0, limit - 1).join("") + "…";
}

function listOutputs(nodes, best) {
  const ended = nodes.map((node, index) => ({ node, index })).filter(({ node }) => node.score !== null);
  ended.sort((a, b) => b.node.score - a.node.score);
  const rows = ended.map(({ node, index }) => {
    const words = [];
    for (let at = index; at !== null; at = nodes[at].parent) words.unshift(nodes[at].text);
    const text = make("bdi", { dir: "auto" }, words.join("").replace(/<\/s>$/, ""));
    return [[index === best ? make("b", {}, text) : text], [node.score.toFixed(4)], [node.total.toFixed(4)]];
  });
  const table = drawTable(["output", "score", "log-probability"], rows);
  table.firstChild.setAttribute("aria-label", "Outputs of the beam");
  return table;
}
