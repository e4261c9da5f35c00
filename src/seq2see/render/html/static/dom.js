// Small words for making elements. Data only ever becomes text nodes and attributes, never markup.

const settings = JSON.parse(document.getElementById("seq2see-settings").textContent);
const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function makeSvg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function makeSelect(label, names, onChange, chosen = 0) {
  const options = names.map((name, index) => make("option", { value: index }, name));
  const select = make("select", {}, ...options);
  select.value = chosen;
  select.addEventListener("change", () => onChange(Number(select.value)));
  return make("label", { class: "choice" }, label, select);
}

function makeSwitch(label, on, onChange) {
  const box = make("input", { type: "checkbox" });
  box.checked = on;
  box.addEventListener("change", () => onChange(box.checked));
  return make("label", { class: "choice" }, box, label);
}

// What a reader sees of a token: spaces and controls as marks. Mirrors show_text in token_label.py.
function showText(text) {
  const shown = Array.from(text, (char) => settings.marks[char] ?? char).join("");
  const kept = shown.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "");
  return kept.replace(/^[\u200c\u200d]+|[\u200c\u200d]+$/g, "") || settings.empty;
}

function countLetters(text) {
  return Intl.Segmenter ? Array.from(new Intl.Segmenter().segment(text)).length : Array.from(text).length;
}

function formatNumber(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const small = Math.abs(value) < 0.001 || Math.abs(value) >= 1e6;
  return small ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

function formatWeight(weight) {
  return weight === null ? "unknown" : weight.toFixed(4);
}

// The colour of a weight, by the same straight lines between stops as mix_colour in colours.py.
function mixColour(weight, stops) {
  const place = Math.min(Math.max(weight ?? 0, 0), 1) * (stops.length - 1);
  const left = Math.min(Math.floor(place), stops.length - 2);
  const [low, high] = [stops[left], stops[left + 1]].map(splitChannels);
  return low.map((channel, i) => Math.round(channel + (high[i] - channel) * (place - left)));
}

function splitChannels(colour) {
  return [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
}

function pickInk(channels) {
  const linear = channels.map((c) => (c / 255 <= 0.04045 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return luminance > 0.18 ? "#10151d" : "#ffffff"; // the ink with the better contrast
}

// Both colours go on the element; the style sheet picks one, so that theme and print need no script.
// `family` names another ramp for a second quantity: "warm_".
function paint(node, weight, family = "") {
  for (const theme of ["light", "dark"]) {
    const channels = mixColour(weight, settings[family + theme]);
    node.style.setProperty(`--${theme}`, `rgb(${channels.join(" ")})`);
    node.style.setProperty(`--${theme}-ink`, pickInk(channels));
  }
  node.classList.add("painted");
}

// The colour of the n-th run, in both themes, as `--tone` for the style sheet.
function tone(node, number) {
  const [light, dark] = settings.runs[number % settings.runs.length];
  node.style.setProperty("--light", light);
  node.style.setProperty("--dark", dark);
  node.classList.add("toned", `dash${number % 4}`);
  return node;
}

function unpaint(node) {
  node.classList.remove("painted", "chosen");
}
