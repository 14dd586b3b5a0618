// Clients that do with their connections what they like, one function each. As a program of its own it runs so many of each,
// over and over, until its parent sends a message, and then tells how often each came and what was answered wrongly:
//   node hostile_clients.js PORT COUNT_OF_EACH

import net from "node:net";
import zlib from "node:zlib";

const [port, countOfEach] = process.argv.slice(2).map(Number);
const sleep = (time) => new Promise((resolve) => setTimeout(resolve, 1000 * time));
const wrong = [], counts = {};
let ending = false;
const longSleep = async (time) => { for (let i = 0; i < 10 * time && !ending; ++i) await sleep(0.1); };

function connect() {
  return new Promise((resolve) => {
    const socket = net.connect({host: "127.0.0.1", port, allowHalfOpen: true}, () => resolve(socket));
    socket.on("error", () => resolve(socket));
  });
}

// All that comes until the server ends the connection.
function answer(socket) {
  return new Promise((resolve) => {
    const parts = [];
    socket.on("data", (data) => parts.push(data));
    for (const end of ["end", "close"]) socket.on(end, () => resolve(Buffer.concat(parts).toString()));
  });
}

// Beside the answers that it may get, each may be told to come back later.
function check(right, kind, text) {
  if (!right && !/^HTTP\/1.1 (429|503)/.test(text)) wrong.push(`${kind}: ${text.slice(0, 200)}`);
}

const request = (method, path, body, more = "") => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
  `${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const health = request("GET", "/health", "");
const text = request("POST", "/v1/completions", JSON.stringify({prompt: "the cat", max_tokens: 40, stream: true, ignore_eos: true}));
const endless = request("POST", "/v1/completions", JSON.stringify({prompt: "the cat", max_tokens: 100000, stream: true, ignore_eos: true}));
const large = request("POST", "/v1/completions", JSON.stringify({prompt: Array(500).fill(65), max_tokens: 0, echo: true, logprobs: 20}));
const bomb = zlib.gzipSync(Buffer.alloc(50 << 20));  // 50 kB

const kinds = {
  async aborts(socket) {
    socket.write(endless);
    await sleep(0.5 * Math.random());
  },
  async abortsInItsRequest(socket) {
    socket.write(text.slice(0, text.length * Math.random()));
    await sleep(0.2 * Math.random());
  },
  async pipelines(socket) {
    socket.write(health.repeat(20) + text + endless + health);
    await sleep(0.1 * Math.random());
  },
  async resets(socket) {
    socket.write(Math.random() < 0.5 ? endless : text.slice(0, text.length * Math.random()));
    await sleep(0.2 * Math.random());
    socket.resetAndDestroy();
  },
  async neverReads(socket) {  // nothing is read from a socket without a listener
    socket.write(large.repeat(40));
    await longSleep(25);
  },
  async halfCloses(socket) {
    socket.end(text);
    const got = await answer(socket);
    check(got.startsWith("HTTP/1.1 200") && got.includes("data: [DONE]\n\n"), "half-closed", got);
    await sleep(0.5);
  },
  async zips(socket) {
    socket.write(`POST ${Math.random() < 0.5 ? "/health" : "/v1/completions"} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n` +
      `Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
    socket.write(bomb);
    const got = await answer(socket);
    check(got.startsWith("HTTP/1.1 415"), "gzip", got);
    await sleep(0.5);
  },
  async drips(socket) {
    socket.write("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (let i = 0; i < 250 && !ending && socket.writable; ++i) {
      socket.write("1\r\n{\r\n");
      await sleep(0.1);
    }
  },
  async hidesARequest(socket) {
    socket.write(request("GET", "/health", "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "Expect: 100-continue\r\nConnection: close\r\n"));
    const got = await answer(socket);
    check(/HTTP\/1.1 [24]/.test(got) && !got.includes("owned_by"), "a hidden request", got);
    await sleep(0.5);
  },
};

async function repeat(kind) {
  while (!ending) {
    const socket = await connect();
    if (socket.writable) await kinds[kind](socket);
    else await sleep(0.1);
    socket.destroy();
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
}

const all = Object.keys(kinds).flatMap((kind) => Array.from({length: countOfEach}, () => repeat(kind)));
process.on("message", async () => {
  ending = true;
  await Promise.race([Promise.all(all), sleep(30)]);
  process.send({counts, wrong}, () => process.exit());
});
