// Requests to the server: responses as JSON, streams as events, and the token if it needs one.

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
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError("The server cannot be reached; is it still running?", 0);
  }
  if (response.ok) return response;
  const found = await response.json().catch(() => ({}));
  throw new RequestError(found.error ?? `the server responded with status ${response.status}.`, response.status);
}

async function callApi(path, body, signal) {
  return (await send(path, body, signal)).json();
}

// Calls `listen(name, data)` for each event of a stream, until it ends.
async function stream(path, body, signal, listen) {
  const reader = (await send(path, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [name, data] = block.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
      if (name === "error") throw new RequestError(JSON.parse(data).error, 200);
      listen(name, JSON.parse(data));
    }
  }
}
