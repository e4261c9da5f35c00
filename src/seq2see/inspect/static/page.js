// Shows the payload of this page: a trace has maps, a report has a title.

function start() {
  const payload = JSON.parse(document.getElementById("seq2see-payload").textContent);
  const content = payload.maps ? [drawTrace(payload)] : drawReport(payload);
  document.getElementById("seq2see").replaceChildren(...content);
  window.addEventListener("beforeprint", () => waiting.splice(0).forEach((open) => open()));
}

start();
