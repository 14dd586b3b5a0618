// What a server of tessera serve stands, as one table: many clients that stream, score, ask and edit a store for some
// time, every answer held against the program's own; slow, silent and broken clients; kill -9 during edits.
//
//   node bench/serve/load.js build/release/tessera --seconds 600 --clients 64 --idle 100000
//
// The limits of idle connections are this machine's: `ulimit -n` of the server (the table says which it was).

import {execFileSync, fork} from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import {fileURLToPath} from "node:url";
import {parseArgs} from "node:util";

const {values: options, positionals} = parseArgs({allowPositionals: true, options: {
  seconds: {type: "string", default: "60"}, clients: {type: "string", default: "64"}, idle: {type: "string", default: "10000"}}});
process.env.TESSERA_PROGRAM = path.resolve(positionals[0] ?? "build/release/tessera");
const {smallText, tessera, Workplace} = await import("../../tests/serve/page/workplace.js");
const {connectMany, trickle} = await import("./broken_clients.js");
const kHere = path.dirname(fileURLToPath(import.meta.url));

const seconds = () => performance.now() / 1000;
const sleep = (time) => new Promise((resolve) => setTimeout(resolve, 1000 * time));
const pick = (list) => list[Math.floor(Math.random() * list.length)];

function quantile(times, share) {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
const milliseconds = (time) => time === undefined ? "none" : `${(1000 * time).toFixed(1)} ms`;
const spread = (times) => `${milliseconds(quantile(times, 0.5))} / ${milliseconds(quantile(times, 0.99))}`;

// ---- The table.

const rows = [];
function row(what, result) {
  rows.push([what, result]);
  console.error(`${what}: ${result}`);
}
function printTable() {
  console.log("| what | result |\n|---|---|");
  for (const [what, result] of rows) console.log(`| ${what} | ${result} |`);
}

// ---- Requests, on connections that are kept.

const agent = new http.Agent({keepAlive: true, maxSockets: Infinity});

// Calls onData with what comes; returns {status, text}.
function ask(origin, method, where, body, onData = () => {}) {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? "" : JSON.stringify(body);
    const request = http.request(origin + where, {agent, method, headers: {"Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(text)}}, (response) => {
      const parts = [];
      response.on("data", (data) => { onData(data); parts.push(data); });
      response.on("end", () => resolve({status: response.statusCode, text: Buffer.concat(parts).toString()}));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(text);
  });
}
const events = (text) => text.split("\n").filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));

// ---- What the program itself answers.

const kPrompts = ["the cat ", "a dog follows", "one small bird", "my sister sees the", "x"];
const kTokens = [4, 20, 60];
// Words that hardly repeat themselves; texts of two alphabets have no words in common.
const words = (count, start, alphabet) => Array.from({length: count}, (_, i) =>
  Array.from(((start + i) * 7919 % 99991).toString(10), (digit) => alphabet[digit]).join("")).join(" ") + ".\n";
const kPoem = words(400, 1, "rsaeinotlu");
const kForgotten = "RSAEINOTLU";

function writtenTexts(model) {
  const list = [];
  for (const prompt of kPrompts) for (const tokens of kTokens) {
    const seed = list.length;
    const answer = JSON.parse(tessera("generate", "--model", model, "--prompt", prompt, "--max-tokens", String(tokens), "--seed", String(seed), "--json"));
    list.push({body: {model: "mosaic", prompt, max_tokens: tokens, seed, stream: true, return_token_ids: true,
      stream_options: {include_usage: true}}, ids: answer.tokens.map((token) => token.id), text: answer.text});
  }
  return list;
}

function scoredTexts(place, model) {
  return [1, 5, 20, 60].map((sentences) => {
    const text = smallText(sentences);
    const file = place.write(`score${sentences}.txt`, text);
    const {loss, tokens} = JSON.parse(tessera("eval", "--model", model, "--data", file, "--reading", "streaming", "--json"));
    return {body: {model: "mosaic", prompt: text, max_tokens: 1, temperature: 0, echo: true, logprobs: 1}, loss, tokens};
  });
}

function recitals(store) {
  return [0, 100, 500, 900].map((start) => {
    const prompt = kPoem.slice(start, start + 24);
    const {text, tokens} = JSON.parse(tessera("memo", "recall", store, "--prompt", prompt, "--json"));
    return {body: {prompt}, text, sources: tokens.map((token) => token.sources[0]?.position)};
  });
}

// ---- Load.

class Load {
  constructor(origin, known) {
    Object.assign(this, {origin, known, wrong: 0, refused: 0, counts: {}, firstToken: [],
      times: {stream: [], score: [], recite: [], edit: [], memorize: [], forget: []}});
  }

  async timed(kind, ...request) {
    const started = seconds();
    const answer = await ask(this.origin, ...request);
    this.times[kind].push(seconds() - started);
    return answer;
  }

  check(right, what) {
    if (right) return;
    if (++this.wrong <= 5) console.error(`wrong: ${what.slice(0, 400)}`);
  }

  async stream() {
    const {body, ids, text} = pick(this.known.written);
    const started = seconds();
    let first;
    const answer = await ask(this.origin, "POST", "/v1/completions", body, (data) => {
      if (data.includes("data: ")) first ??= seconds() - started;  // comments come before it
    });
    const all = events(answer.text);
    const choices = all.flatMap((event) => event.choices);
    const right = choices.every((choice) => choice.token_ids.length === 1) && answer.text.endsWith("data: [DONE]\n\n") &&
      choices.flatMap((choice) => choice.token_ids).join() === ids.join() && choices.map((choice) => choice.text).join("") === text;
    this.firstToken.push(first);
    return {answer, right};
  }

  async score() {
    const {body, loss, tokens} = pick(this.known.scored);
    const answer = await ask(this.origin, "POST", "/v1/completions", body);
    const scores = JSON.parse(answer.text).choices?.[0].logprobs.token_logprobs.slice(1, -1);
    const sum = scores?.reduce((a, b) => a - b, 0);
    return {answer, right: scores?.length === tokens && Math.abs(sum / tokens - loss) < 1e-5};
  }

  async recite() {
    const {body, text, sources} = pick(this.known.recited);
    const answer = await ask(this.origin, "POST", "/v1/stores/poems/recall", body);
    const reply = JSON.parse(answer.text);
    return {answer, right: reply.text === text && reply.tokens.map((token) => token.sources[0]?.position).join() === sources.join()};
  }

  // A document comes, is read, and goes: nobody else has this one.
  async edit(worker) {
    const id = `of-${worker}`, text = words(20 + worker, 1000 * worker, kForgotten);
    const where = "/v1/stores/poems/documents";
    let answer = await this.timed("memorize", "POST", where, {id, text});
    if (answer.status !== 201) return {answer, right: false};
    const read = await ask(this.origin, "GET", `${where}/${id}`);
    answer = await this.timed("forget", "DELETE", `${where}/${id}`);
    return {answer, right: JSON.parse(read.text).text === text && answer.status === 200};
  }

  async work(worker, until) {
    const kinds = ["stream", "stream", "stream", "stream", "score", "score", "score", "recite", "recite", "edit"];
    while (seconds() < until) {
      const kind = pick(kinds), started = seconds();
      try {
        const {answer, right} = await this[kind](worker);
        if ([429, 503].includes(answer.status)) ++this.refused;
        else this.check(right, `${kind}: ${answer.status} ${answer.text}`);
      } catch (error) {
        this.check(false, `${kind}: ${error.stack}`);
      }
      this.times[kind].push(seconds() - started);
      this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    }
  }

  async run(clients, time) {
    const until = seconds() + time;
    await Promise.all(Array.from({length: clients}, (_, worker) => this.work(worker, until)));
  }
}

const memory = (pid) => Number(fs.readFileSync(`/proc/${pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]) / 1024;

async function loadRows(server, known) {
  const clients = Number(options.clients), time = Number(options.seconds);
  await new Load(server.origin, known).run(clients, Math.min(10, time / 4));  // threads, caches
  const marks = [memory(server.pid)];
  const load = new Load(server.origin, known);
  for (let part = 0; part < 3; ++part) {
    await load.run(clients, time / 3);
    marks.push(memory(server.pid));
  }
  row(`${clients} clients for ${time} s: requests`, Object.entries(load.counts).map(([kind, count]) => `${count} ${kind}`).join(", "));
  row("wrong answers, refused requests", `${load.wrong}, ${load.refused}`);
  row("time to the first token, p50 / p99", spread(load.firstToken));
  for (const kind of ["score", "recite", "memorize", "forget"]) row(`time of ${kind}, p50 / p99`, spread(load.times[kind]));
  row("memory after the warm-up, at each third, at the end", marks.map((mark) => `${mark.toFixed(1)} MB`).join(", "));
}

// ---- Clients that behave badly, while others are served.

async function healthTimes(origin, time) {
  const times = [], until = seconds() + time;
  while (seconds() < until) {
    const started = seconds();
    const {status} = await ask(origin, "GET", "/v1/models");
    times.push(status === 200 ? seconds() - started : NaN);
    await sleep(0.01);
  }
  return times;
}

async function brokenRows(server) {
  const port = Number(new URL(server.origin).port);
  row("GET /v1/models on a quiet server, p50 / p99", spread(await healthTimes(server.origin, 3)));
  const head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n";
  const loris = await connectMany(port, 500);
  const stop = trickle(loris, head);
  row("the same beside 500 clients that send a byte of a head at a time", spread(await healthTimes(server.origin, 5)));
  stop();
  const halves = await connectMany(port, 500);
  for (const socket of halves) socket.write(head + '\r\n{"prompt":');
  row("the same beside 500 bodies that are half sent", spread(await healthTimes(server.origin, 5)));
  for (const socket of [...loris, ...halves]) socket.destroy();

  const wanted = Number(options.idle), perChild = 15000;
  const children = Array.from({length: Math.ceil(wanted / perChild)}, (_, i) => fork(path.join(kHere, "broken_clients.js"),
    [String(port), String(Math.min(perChild, wanted - i * perChild)), `127.0.0.${2 + i}`]));
  const opened = await Promise.all(children.map((child) => new Promise((resolve) => child.on("message", resolve))));
  const held = (await fs.promises.readdir(`/proc/${server.pid}/fd`)).length;
  const limit = fs.readFileSync(`/proc/${server.pid}/limits`, "utf8").match(/Max open files\s+(\d+)/)[1];
  const before = memory(server.pid);
  row(`the same beside ${opened.reduce((a, b) => a + b, 0)} idle connects, of which the server holds ${held} (its ulimit -n: ${limit})`,
    spread(await healthTimes(server.origin, 5)));
  row("memory with them", `${before.toFixed(1)} MB`);
  for (const child of children) child.kill();
  await sleep(1);
}

// ---- Throughput and the cost of a request, from the benchmark beside this file.

function benchmarkRows() {
  const program = path.join(path.dirname(process.env.TESSERA_PROGRAM), "bench_serve_server");
  if (!fs.existsSync(program)) return row("requests and streams", `${program} is not built`);
  const {benchmarks} = JSON.parse(execFileSync(program, ["--benchmark_format=json", "--benchmark_min_time=2"], {stdio: ["ignore", "pipe", "ignore"]}));
  const find = (name) => benchmarks.find((one) => one.name.startsWith(name));
  const overhead = find("request_over_http").real_time - find("library_call").real_time;
  row("a request for one token beside the library call", `${overhead.toFixed(0)} us more`);
  for (const model of ["mosaic", "gpt"]) {
    const [one, many] = [1, 16].map((streams) => find(`${model}_streams/${streams}/`)["tokens/s"]);
    row(`${model} of 6 layers, 384 channels: 1 stream, 16 streams`, `${one.toFixed(0)}, ${many.toFixed(0)} tokens a second: ${(many / one).toFixed(1)} times`);
  }
}

// ---- kill -9 during edits.

async function killRow(place, store) {
  let killed = 0, whole = 0;
  for (let i = 0; i < 10; ++i) {
    const server = await place.serve("--store", store);
    const edit = ask(server.origin, "POST", "/v1/stores/poems/documents", {id: "killed", text: words(2000, 100 * i, kForgotten), replace: true}).catch(() => ++killed);
    await sleep(0.03 * Math.random());
    await server.stop();
    await edit;
    try {
      tessera("memo", "verify", store);
      ++whole;
    } catch (error) {
      if (/not erased/.test(error.stderr)) ++whole;
      else console.error(error.stderr);
    }
  }
  row("kill -9 of the server during an edit: edits cut off, stores that verify", `${killed} of 10, ${whole} of 10`);
}

const place = new Workplace();
try {
  place.train("mosaic");
  place.store("poems", {"poem.txt": kPoem});
  const model = place.path("runs/mosaic/model"), store = place.path("poems");
  const known = {written: writtenTexts(model), scored: scoredTexts(place, model), recited: recitals(store)};
  const server = await place.serve("--model", `mosaic=${model}`, "--store", store);
  await loadRows(server, known);
  await brokenRows(server);
  await server.stop();
  await killRow(place, store);
  benchmarkRows();
  printTable();
} finally {
  agent.destroy();
  place.remove();
}
