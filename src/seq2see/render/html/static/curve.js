// Learning curves: a panel for the losses, one for the first score, and all other numbers of the history on demand.

const NAMES = { loss: "training loss", valid_loss: "validation loss", exact_match: "exact match" };
const CLOCKS = ["update", "epoch", "step", "seconds"]; // these say when, not how well
const ASIDE = ["learning_rate", "tokens_per_second"]; // of interest, but not to everyone
const MARGIN = { left: 52, right: 30, top: 12, bottom: 34 };
const HEIGHT = 230;

function drawCurves(history) {
  const keys = [...new Set(history.flatMap((row) => Object.keys(row)))].filter((key) => !CLOCKS.includes(key));
  const shown = keys.filter((key) => readPoints(history, key).length > 0);
  const losses = shown.filter((key) => key.includes("loss"));
  const scores = shown.filter((key) => !losses.includes(key) && !ASIDE.includes(key));
  const aside = [...scores.slice(1), ...shown.filter((key) => ASIDE.includes(key))];
  const panels = [losses, scores.slice(0, 1)].filter((panel) => panel.length);
  const root = make("div", { class: "curves" }, ...panels.map((panel) => drawPanel(history, panel)));
  if (!aside.length) return root;
  const more = make("div", { class: "curves" }, ...aside.map((key) => drawPanel(history, [key])));
  return make("div", {}, root, make("details", {}, make("summary", {}, "More curves"), more));
}

function readClock(row, index) {
  return row.update ?? row.step ?? index + 1;
}

function readPoints(history, key) {
  const points = history.map((row, index) => [readClock(row, index), row[key]]);
  return points.filter(([, value]) => Number.isFinite(value));
}

function nameKey(key) {
  return NAMES[key] ?? key.replaceAll("_", " ");
}

function drawPanel(history, keys) {
  const series = keys.map((key, index) => {
    return { name: nameKey(key), kind: styleSeries(keys, index), points: readPoints(history, key) };
  });
  const share = keys.every((key) => /match|accuracy/.test(key)); // a share deserves its whole range
  return drawFigure(series, { axis: "update", share, say: (stop) => `update ${formatNumber(stop)}` });
}

// Lines with a legend and a readout; `say` names a place on the axis, `tone` of a series is the number of its run.
function drawFigure(series, options) {
  const legend = make("figcaption", {}, ...series.map((each) => {
    const key = make("span", { class: `key ${each.kind}`, dir: "auto" }, each.name);
    return each.tone === undefined ? key : tone(key, each.tone);
  }));
  const readout = make("p", { class: "values", role: "status" });
  const holder = make("div", { class: "plot" });
  const draw = (width) => holder.replaceChildren(drawPlot(series, options, width, readout));
  draw(640);
  // drawn anew at each width, so that letters keep their size on a phone
  new ResizeObserver(([entry]) => entry.contentRect.width > 0 && draw(entry.contentRect.width)).observe(holder);
  return make("figure", { class: "curve" }, legend, holder, readout);
}

function styleSeries(keys, index) {
  if (keys.length === 1) return "main";
  return keys[index] === "valid_loss" ? "main" : "second";
}

function drawPlot(series, options, width, readout) {
  const all = series.flatMap((each) => each.points);
  const frame = makeFrame(all, options.share, width);
  const label = series.map((each) => `${each.name} ends at ${formatNumber(each.points.at(-1)[1])}`).join(", ");
  const size = { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT };
  const svg = makeSvg("svg", { ...size, role: "img", tabindex: 0, "aria-label": label });
  svg.append(...drawAxes(frame, width, options.axis), ...series.flatMap((each) => drawSeries(each, frame)));
  const rule = makeSvg("line", { class: "rule", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, visibility: "hidden" });
  svg.append(rule);
  followPointer(svg, series, frame, rule, readout, options.say);
  return svg;
}

function makeFrame(points, share, width) {
  const [xs, ys] = [points.map((point) => point[0]), points.map((point) => point[1])];
  const top = Math.max(...ys);
  const [low, high] = share ? [0, top > 1 ? 100 : 1] : [Math.min(0, ...ys), top];
  const yTicks = makeTicks(low, high === low ? low + 1 : high, 4);
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const x = (value) => MARGIN.left + ((value - left) / (right - left || 1)) * (width - MARGIN.left - MARGIN.right);
  const [floor, ceiling] = [yTicks[0], yTicks.at(-1)];
  const room = HEIGHT - MARGIN.top - MARGIN.bottom;
  const y = (value) => MARGIN.top + ((ceiling - value) / (ceiling - floor)) * room;
  const xTicks = makeTicks(left, right === left ? left + 1 : right, Math.max(2, width / 110));
  return { x, y, xTicks: xTicks.filter((tick) => tick >= left && tick <= right), yTicks };
}

// Round numbers from at or below `low` to at or above `high`.
function makeTicks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= raw * 0.999);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(10)));
}

function drawAxes({ x, y, xTicks, yTicks }, width, axis) {
  const across = yTicks.flatMap((tick) => [
    makeSvg("line", { class: "across", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }),
    makeSvg("text", { class: "tick", x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, formatNumber(tick)),
  ]);
  const below = { class: "tick", y: HEIGHT - MARGIN.bottom + 16, "text-anchor": "middle" };
  const along = xTicks.map((tick) => makeSvg("text", { ...below, x: x(tick) }, formatNumber(tick)));
  const name = makeSvg("text", { class: "tick", x: width - MARGIN.right, y: HEIGHT - 4, "text-anchor": "end" }, axis);
  return [...across, ...along, name];
}

function drawSeries({ points, kind, tone: number }, { x, y }) {
  const path = points.map(([a, b], index) => `${index ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const line = makeSvg("path", { class: `line ${kind}`, d: path });
  const dots = points.length > 60 ? [] : points.map(([a, b, few]) =>
    makeSvg("circle", { class: `dot ${kind}${few ? " few" : ""}`, cx: x(a), cy: y(b), r: few ? 3.5 : 2.5 }));
  return number === undefined ? [line, ...dots] : [line, ...dots].map((node) => tone(node, number));
}

function followPointer(svg, series, frame, rule, readout, say) {
  const stops = [...new Set(series.flatMap((each) => each.points.map((point) => point[0])))].sort((a, b) => a - b);
  let place = stops.length - 1;
  const show = (index) => {
    place = Math.min(Math.max(index, 0), stops.length - 1);
    const stop = stops[place];
    fill(rule, { x1: frame.x(stop), x2: frame.x(stop), visibility: "visible" }, []);
    const values = series.flatMap((each) =>
      each.points.filter((point) => point[0] === stop).map((point) => `${each.name} ${formatNumber(point[1])}`));
    readout.textContent = `${say(stop)}: ${values.join(", ")}`;
  };
  const hide = () => {
    rule.setAttribute("visibility", "hidden");
    readout.textContent = "";
  };
  const follow = (event) => {
    const at = event.clientX - svg.getBoundingClientRect().left;
    const far = stops.map((stop) => Math.abs(frame.x(stop) - at));
    show(far.indexOf(Math.min(...far)));
  };
  svg.addEventListener("pointermove", follow);
  svg.addEventListener("pointerdown", follow);
  svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide()); // a finger that leaves has been read
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(place + step);
  });
}
