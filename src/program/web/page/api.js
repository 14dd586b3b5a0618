// Speaks to the server: JSON, and answers that come as server-sent events.

const kKeyName = "tessera-key";
const kNoAnswer = "The server does not answer. Is tessera serve still running?";
const kCutOff = "The connection ended before the answer was complete. Is tessera serve still running?";

// What the server said went wrong, in its words.
class ApiError extends Error {
  constructor(status, {message, code = null}) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// The server's key, where it asks for one; it stays in this tab.
export function setKey(key) {
  sessionStorage.setItem(kKeyName, key);
}

export function hasKey() {
  return sessionStorage.getItem(kKeyName) !== null;
}

export function isAborted(error) {
  return error.name === "AbortError";
}

async function failure(response) {
  if (response.status === 401) document.dispatchEvent(new CustomEvent("key-needed"));
  try {
    return new ApiError(response.status, (await response.json()).error);
  } catch {
    return new ApiError(response.status, {message: `The server answered with status ${response.status}.`});
  }
}

// options: body (an object is sent as JSON, a file as text), signal.
async function request(method, path, {body, signal} = {}) {
  const headers = {};
  if (hasKey()) headers.Authorization = `Bearer ${sessionStorage.getItem(kKeyName)}`;
  if (body instanceof Blob) headers["Content-Type"] = "text/plain";
  else if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = body instanceof Blob || body === undefined ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, {method, headers, body: sent, signal});
  } catch (error) {
    throw isAborted(error) ? error : new ApiError(0, {message: kNoAnswer});
  }
  if (!response.ok) throw await failure(response);
  return response;
}

export async function get(path, options) {
  return (await request("GET", path, options)).json();
}

export async function getBlob(path) {
  return (await request("GET", path)).blob();
}

export async function post(path, body, options = {}) {
  return (await request("POST", path, {...options, body})).json();
}

// The events of an answer, up to the one that says that it is complete.
export async function* events(method, path, options) {
  const response = await request(method, path, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) throw new ApiError(0, {message: kCutOff});
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith("data: ")) continue;
        if (line === "data: [DONE]") return;
        const event = JSON.parse(line.slice("data: ".length));
        if (event.error) throw new ApiError(response.status, event.error);
        yield event;
      }
    }
  } catch (error) {
    throw error instanceof TypeError ? new ApiError(0, {message: kCutOff}) : error;
  } finally {
    reader.cancel().catch(() => {});
  }
}

// An answer that takes long: onProgress(done, of) until it is there.
export async function longAnswer(method, path, {onProgress = () => {}, ...options} = {}) {
  const streamed = path + (path.includes("?") ? "&" : "?") + "stream=true";
  let answer = null;
  for await (const event of events(method, streamed, options)) {
    if ("of" in event) onProgress(event.done, event.of);
    else answer = event;
  }
  return answer;
}
