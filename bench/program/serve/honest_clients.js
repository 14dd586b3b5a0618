// Clients that stream, score, ask and edit a store, every answer held against the program's own.

import http from "node:http";
import {smallText, tessera} from "../../../tests/program/serve/page/workplace.js";

const seconds = () => performance.now() / 1000;
const pick = (list) => list[Math.floor(Math.random() * list.length)];

// ---- Requests, on connections that are kept.

export const agent = new http.Agent({keepAlive: true, maxSockets: Infinity});

// Calls onData with what comes; returns {status, text}.
export function ask(origin, method, where, body, onData = () => {}) {
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
export const words = (count, start, alphabet) => Array.from({length: count}, (_, i) =>
  Array.from(((start + i) * 7919 % 99991).toString(10), (digit) => alphabet[digit]).join("")).join(" ") + ".\n";
export const kPoem = words(400, 1, "rsaeinotlu");
export const kForgotten = "RSAEINOTLU";

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

// What a model and a store answer.
export function knownAnswers(place, model, store) {
  return {written: writtenTexts(model), scored: scoredTexts(place, model), recited: recitals(store)};
}

// ---- Load.

export class Load {
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
