// Sizes that fit: a grid whose cells fill the room that it has in the window, and a trace that fills the screen.

const CELLS = { least: 20, easy: 26, most: 40, filled: 120 }; // pixels; `easy` where it must be scrolled anyway
const GAP = 2; // pixels between cells, as the style sheet says
const NEAR = 0.6; // what begins farther down than this share of the window is scrolled to, and has all of it

// Fits what is in a scroller whenever its width changes; the height of the window is watched once for all.
function keepFitting(scroller, fit) {
  const ruler = make("div", { class: "ruler" });
  scroller.fit = () => scroller.isConnected && fit(scroller);
  new ResizeObserver(scroller.fit).observe(ruler);
  return [ruler, scroller];
}

// At once where something was drawn, so that nothing moves after it is seen.
function fitAll() {
  document.querySelectorAll(".scroller").forEach((each) => each.fit?.());
}

window.addEventListener("resize", fitAll);

// The height that a scroller has, above the line that says what is pointed at.
function measureRoom(scroller, readout) {
  const filled = scroller.closest(".filled") !== null;
  const top = scroller.getBoundingClientRect().top + (filled ? 0 : window.scrollY);
  const above = filled || top < NEAR * window.innerHeight ? top : 0;
  return { most: filled ? CELLS.filled : CELLS.most, height: window.innerHeight - above - readout.offsetHeight - 2 * GAP };
}

function chooseCell(...bounds) {
  const fitting = Math.floor(Math.min(...bounds));
  return `${fitting < CELLS.least ? CELLS.easy : fitting}px`;
}

// Letters grow with their cells, and headers and numbers with the letters: each time the sizes come closer.
function fitCells(scroller, table, readout) {
  const [body, target] = [table.tBodies[0], table.querySelector(".target")];
  const [rows, columns, first] = [body.rows.length, body.rows[0].cells.length - 1, body.rows[0].cells[1]];
  const { most, height } = measureRoom(scroller, readout);
  for (let time = 0; time < 3; time += 1) {
    const beyond = parseFloat(getComputedStyle(table).marginInlineEnd) || 0; // of the last slanted label
    const wide = first.offsetWidth / first.offsetHeight; // cells above numbers are as wide as numbers are
    const down = (height - (table.offsetHeight - body.offsetHeight)) / rows - GAP;
    const across = ((scroller.clientWidth - target.offsetWidth - beyond - 2 * GAP) / columns - GAP) / wide;
    table.style.setProperty("--cell", chooseCell(down, across, most));
  }
}

function fitArcs(scroller, arcs, count, readout) {
  const { most, height } = measureRoom(scroller, readout);
  const names = arcs.querySelector("h3").offsetHeight;
  arcs.style.setProperty("--cell", chooseCell((height - names) / count, most));
}

// A button that shows a trace alone, as large as the screen permits; Escape shows the page again.
function drawFill(root) {
  const button = make("button", { type: "button", class: "button fill", "aria-pressed": false }, "Fill the screen");
  const set = (filled) => {
    root.classList.toggle("filled", filled);
    button.setAttribute("aria-pressed", filled);
    button.textContent = filled ? "Back to the page" : "Fill the screen";
    fitAll();
  };
  button.addEventListener("click", () => {
    const filled = !root.classList.contains("filled");
    set(filled);
    if (filled) root.requestFullscreen?.().catch(() => {}); // a browser may refuse; the window is filled all the same
    else if (document.fullscreenElement) document.exitFullscreen();
  });
  root.addEventListener("fullscreenchange", () => set(document.fullscreenElement === root));
  root.addEventListener("keydown", (event) => event.key === "Escape" && root.classList.contains("filled") && set(false));
  return button;
}
