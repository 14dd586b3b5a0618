// A folder with tiny trained models, a store and runs, and a server of them.

import {execFileSync, spawn} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const kProgram = process.env.TESSERA_PROGRAM;
const kEnvironment = {...process.env, OMP_NUM_THREADS: "2", OMP_WAIT_POLICY: "passive"};

export function tessera(...args) {
  return execFileSync(kProgram, args, {env: kEnvironment, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8"});
}

// Sentences in an order that a small model learns something of.
export function smallText(sentences, objects = ["the river", "a red stone", "the long road", "three apples", "you"]) {
  const subjects = ["the cat", "a dog", "the old man", "my sister", "one small bird"];
  const verbs = ["sees", "likes", "finds", "follows"];
  let text = "";
  for (let i = 0; i < sentences; ++i)
    text += `${subjects[(i * 7) % 5]} ${verbs[(i * i) % 4]} ${objects[(i * 3 + Math.floor(i / 5)) % 5]}.\n`;
  return text;
}

// Until "ready" stands in what the process prints; returns the text before it was there.
function printed(process, ready) {
  return new Promise((resolve, reject) => {
    let text = "", errors = "";
    process.stderr.on("data", (data) => { errors += data; });
    process.stdout.on("data", (data) => {
      text += data;
      const found = text.match(ready);
      if (found) resolve(found);
    });
    process.on("exit", (status) => reject(new Error(`the server ended with status ${status}: ${errors}`)));
  });
}

export class Workplace {
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "tessera-page-"));
    this.servers = [];
  }

  path(...names) {
    return path.join(this.folder, ...names);
  }

  write(name, text) {
    fs.writeFileSync(this.path(name), text);
    return this.path(name);
  }

  // A run folder runs/NAME of a byte-level model.
  train(name, ...settings) {
    const text = this.write("text.txt", smallText(400));
    const config = this.write("train.toml", `[data]\ntext = "${text}"\ntokenizer = "byte"\n` +
      "[model]\nlayers = 2\nheads = 2\nchannels = 32\nwindow = 64\n" +
      "[train]\nsteps = 60\nbatch = 8\nwarmup_steps = 5\nlearning_rate = 0.02\n" +
      "evaluate_every = 20\nevaluate_batches = 2\ncheckpoint_every = 60\n");
    tessera("train", config, "--out", this.path("runs", name), ...settings.flatMap((setting) => ["--set", setting]));
  }

  // A store NAME of these documents, {file name: text}.
  store(name, documents) {
    const files = Object.entries(documents).map(([file, text]) => this.write(file, text));
    tessera("memo", "create", this.path(name), "--tokenizer", "byte", "--dimension", "1024");
    tessera("memo", "memorize", this.path(name), ...files);
  }

  // Serves with these arguments on a free port; returns {origin, pid, stop()}.
  async serve(...args) {
    const server = spawn(kProgram, ["serve", "--port", "0", ...args], {env: kEnvironment});
    this.servers.push(server);
    const [, origin] = await printed(server, /Serving at (\S+)/);
    server.removeAllListeners("exit");
    const ended = new Promise((resolve) => server.on("exit", resolve));
    return {origin, pid: server.pid, stop: () => {
      server.kill("SIGKILL");
      return ended;
    }};
  }

  remove() {
    for (const server of this.servers) server.kill("SIGKILL");
    fs.rmSync(this.folder, {recursive: true, force: true});
  }
}
