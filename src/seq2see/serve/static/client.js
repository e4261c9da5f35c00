// Requests to the server: responses as JSON, streams as events, and the token if it needs one.

const LOST = "The server cannot be reached; is it still running?";
const GARBLED = "What the server sent cannot be read; something between it and this page may have changed it.";

class RequestError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function send(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const token = sessionStorage.getItem("seq2see-token");
  if (token) headers.Authorization = `Bearer ${token}`;
  const method = body === undefined ? "GET" : "POST";
  const response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) }).catch(refuse);
  if (response.ok) return response;
  const found = await response.json().catch(() => null);
  const told = typeof found?.error === "string" ? capitalise(found.error) : nameStatus(response.status);
  throw new RequestError(told, response.status);
}

// What is between the browser and seq2see, such as a proxy, refuses without a sentence.
function nameStatus(status) {
  if (status === 413) return "The request is too large for this server; shorten the text, or take a smaller image.";
  if (status === 429) return "The server has too many requests; try again in a moment.";
  if (status >= 502 && status <= 504) return `The server is busy, or not there yet (status ${status}); try again in a moment.`;
  return `The server responded with status ${status}.`;
}

function capitalise(sentence) {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

async function callApi(path, body, signal) {
  const response = await send(path, body, signal);
  const text = await response.text().catch(refuse);
  return readJson(text);
}

// What ends an answer on its way: a request that was given up, or a lost connection.
function refuse(error) {
  throw error.name === "AbortError" ? error : new RequestError(LOST, 0);
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new RequestError(GARBLED, 200);
  }
}

// Calls `listen(name, data)` for each event of a stream, until it ends.
async function stream(path, body, signal, listen) {
  const reader = (await send(path, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(refuse);
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [name, data] = block.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
      const told = readJson(data);
      if (name === "error") throw new RequestError(capitalise(told.error), 200);
      listen(name, told);
    }
  }
}
