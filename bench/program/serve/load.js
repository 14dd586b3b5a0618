// What a server of tessera serve withstands, as one table: many honest clients for some time, every answer held against the
// program's own, with hostile ones beside them all the while; what the server does once nobody is there; slow, silent and
// broken clients; kill -9 during edits.
//
//   node bench/program/serve/load.js build/release/tessera --seconds 600 --clients 64 --hostile 2 --idle 100000
//
// --hostile counts the clients of each kind in hostile_clients.js (0: none, to see what they cost the others).
// The limits of idle connections are this machine's: `ulimit -n` of the server (the table says which it was).

import {execFileSync, fork} from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import {fileURLToPath} from "node:url";
import {parseArgs} from "node:util";

const {values: options, positionals} = parseArgs({allowPositionals: true, options: {
  seconds: {type: "string", default: "60"}, clients: {type: "string", default: "64"},
  hostile: {type: "string", default: "2"}, idle: {type: "string", default: "10000"}}});
process.env.TESSERA_PROGRAM = path.resolve(positionals[0] ?? "build/release/tessera");
const {tessera, Workplace} = await import("../../../tests/program/serve/page/workplace.js");
const {agent, ask, kForgotten, knownAnswers, kPoem, Load, words} = await import("./honest_clients.js");
const {connectMany, trickle} = await import("./broken_clients.js");
const kHere = path.dirname(fileURLToPath(import.meta.url));

const seconds = () => performance.now() / 1000;
const sleep = (time) => new Promise((resolve) => setTimeout(resolve, 1000 * time));

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

// ---- Honest clients beside hostile ones, and the time after them.

const memory = (pid) => Number(fs.readFileSync(`/proc/${pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]) / 1024;
const megabytes = (count) => `${count.toFixed(1)} MB`;
const list = (counts) => Object.entries(counts).map(([kind, count]) => `${count} ${kind}`).join(", ");

// CPU seconds so far, user's and system's.
function cpuSeconds(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

// Hostile clients in a process of their own; returns what ends them and says what became of them.
function startHostile(origin) {
  const child = fork(path.join(kHere, "hostile_clients.js"), [new URL(origin).port, options.hostile]);
  return () => new Promise((resolve) => {
    child.on("message", resolve);
    child.on("exit", () => resolve({counts: {}, wrong: ["they ended by themselves"]}));
    child.send("end");
  });
}

async function loadRows(server, known) {
  const clients = Number(options.clients), time = Number(options.seconds);
  const endHostile = startHostile(server.origin);
  await new Load(server.origin, known).run(clients, Math.min(10, time / 4));  // threads, caches
  const marks = [memory(server.pid)];
  const load = new Load(server.origin, known);
  for (let part = 0; part < 3; ++part) {
    await load.run(clients, time / 3);
    marks.push(memory(server.pid));
  }
  row(`${clients} clients for ${time} s: requests`, list(load.counts));
  row("wrong answers, refused requests", `${load.wrong}, ${load.refused}`);
  row("time to the first token, p50 / p99", spread(load.firstToken));
  for (const kind of ["score", "recite", "memorize", "forget"]) row(`time of ${kind}, p50 / p99`, spread(load.times[kind]));
  const {counts, wrong} = await endHostile();
  for (const what of wrong.slice(0, 5)) console.error(`wrong: ${what}`);
  row(`beside them ${options.hostile} hostile clients of each kind`, list(counts));
  row("wrong answers to those", wrong.length);
  row("memory after the warm-up, at each third, at the end", marks.map(megabytes).join(", "));
}

// All have left: what the server still does.
async function restRows(server) {
  agent.destroy();
  await sleep(5);
  const before = cpuSeconds(server.pid);
  await sleep(10);
  row("CPU seconds a second with no client left, over 10 s", ((cpuSeconds(server.pid) - before) / 10).toFixed(3));
  row("memory then", megabytes(memory(server.pid)));
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
  row("memory with them", megabytes(before));
  for (const child of children) child.kill();
  await sleep(1);
}

// ---- Throughput and the cost of a request, from the benchmark beside this file.

function benchmarkRows() {
  const program = path.join(path.dirname(process.env.TESSERA_PROGRAM), "tessera_bench");
  if (!fs.existsSync(program)) return row("requests and streams", `${program} is not built`);
  const {benchmarks} = JSON.parse(execFileSync(program, ["program/serve/server", "--benchmark_format=json", "--benchmark_min_time=2"], {stdio: ["ignore", "pipe", "ignore"]}));
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
  const known = knownAnswers(place, model, store);
  const server = await place.serve("--model", `mosaic=${model}`, "--store", store, "--max-clients", "256");
  await loadRows(server, known);
  await restRows(server);
  await brokenRows(server);
  await server.stop();
  await killRow(place, store);
  benchmarkRows();
  printTable();
} finally {
  agent.destroy();
  place.remove();
}
