// Shows the payload of this page: a trace, traces side by side, a comparison of runs, or a report.

function start() {
  const payload = JSON.parse(document.getElementById("seq2see-payload").textContent);
  document.getElementById("seq2see").replaceChildren(...drawPayload(payload));
  fitAll();
  window.addEventListener("beforeprint", () => waiting.splice(0).forEach((open) => open()));
}

function drawPayload(payload) {
  if (payload.live) return drawStudio(payload);
  if (payload.views) return [drawBeside(payload.views)];
  if (payload.maps || payload.sentences) return [showTrace(payload)];
  return payload.runs ? drawComparison(payload) : drawReport(payload);
}

start();
