// Shows the payload of this page: a trace has maps, traces side by side are views, a comparison has runs, a report none.

function start() {
  const payload = JSON.parse(document.getElementById("seq2see-payload").textContent);
  document.getElementById("seq2see").replaceChildren(...drawPayload(payload));
  window.addEventListener("beforeprint", () => waiting.splice(0).forEach((open) => open()));
}

function drawPayload(payload) {
  if (payload.live) return drawStudio(payload);
  if (payload.views) return [drawBeside(payload.views)];
  if (payload.maps) return [drawTrace(payload)];
  return payload.runs ? drawComparison(payload) : drawReport(payload);
}

start();
