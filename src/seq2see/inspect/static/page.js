// Shows the payload of this page: a trace has maps or sentences, a comparison has runs, a report none of them.

function start() {
  const payload = JSON.parse(document.getElementById("seq2see-payload").textContent);
  const draw = payload.maps || payload.sentences ? (trace) => [showTrace(trace)] : payload.runs ? drawComparison : drawReport;
  document.getElementById("seq2see").replaceChildren(...draw(payload));
  window.addEventListener("beforeprint", () => waiting.splice(0).forEach((open) => open()));
}

start();
