// The curl lines of docs/server.md, run word for word but for the port, and what they print; its unit for systemd and its
// configuration of nginx, where these are installed.

import assert from "node:assert/strict";
import {execFileSync, spawn, spawnSync} from "node:child_process";
import fs from "node:fs";
import {after, before, test} from "node:test";
import {Workplace} from "./workplace.js";

const kPage = fs.readFileSync(new URL("../../../../docs/server.md", import.meta.url), "utf8");
const kCommands = kPage.match(/## Quick start[^]*?```\n([^]*?)```/)[1].split("\n\n").map((text) => text.trim());

const block = (first) => kPage.split("```").find((text) => text.includes(first)).trim() + "\n";
const has = (command) => spawnSync("bash", ["-c", `command -v ${command}`], {env: {...process.env, PATH: `${process.env.PATH}:/usr/sbin`}}).status === 0;

const place = new Workplace();
let server;

before(async () => {
  place.train("tiny");
  place.store("books", {"poem.txt": "Once upon a midnight dreary, while I pondered, weak and weary.\n"});
  server = await place.serve("--model", place.path("runs/tiny/model"), "--store", place.path("books"), "--runs", place.path("runs"));
});
after(() => place.remove());

const curl = (command) => execFileSync("bash", ["-c", command.replaceAll("localhost:8080", new URL(server.origin).host)],
  {encoding: "utf8", stdio: ["ignore", "pipe", "ignore"]});

// What each of the commands prints, in their order.
const kExpected = [
  (models) => assert.deepEqual(models.data.map((model) => model.id), ["tiny", "books"]),
  ({model, choices: [choice], usage}) => {
    assert.equal(model, "tiny");
    assert.equal(usage.completion_tokens, 20);
    assert.equal(choice.finish_reason, "length");
  },
  (text) => assert.equal(text.match(/^data: \{/gm).length, 20),
  (document) => assert.deepEqual([document.id, document.outcome], ["raven", "new"]),
  (recital) => assert.equal(recital.text, " the door and would not go."),
  (document) => assert.equal(document.deleted, true),
];

test("the quick start has as many commands as are tested", () => assert.equal(kCommands.length, kExpected.length));
kCommands.forEach((command, i) => test(command.split("\n")[0], () => {
  const printed = curl(command);
  kExpected[i]?.(printed.startsWith("data: ") ? printed : JSON.parse(printed));
}));

test("the unit for systemd", {skip: !has("systemd-analyze")}, () => {
  const unit = block("[Unit]").replace("/usr/local/bin/tessera", process.env.TESSERA_PROGRAM);
  const {status, stderr} = spawnSync("systemd-analyze", ["verify", place.write("tessera.service", unit)], {encoding: "utf8"});
  assert.deepEqual({status, stderr}, {status: 0, stderr: ""});
});

test("nginx in front of the server", {skip: !has("nginx") || !has("openssl")}, async () => {
  const hidden = await place.serve("--model", place.path("runs/tiny/model"), "--allowed-host", "tessera.example.org");
  const key = place.path("tessera.key"), certificate = place.path("tessera.pem"), socket = place.path("nginx.sock");
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=tessera.example.org", "-keyout", key, "-out", certificate], {stdio: "ignore"});
  const site = block("listen 443").replace("listen 443", `listen unix:${socket}`).replace("/etc/ssl/tessera.pem", certificate)
    .replace("/etc/ssl/private/tessera.key", key).replace("http://127.0.0.1:8080", hidden.origin);
  const file = place.write("nginx.conf", `daemon off; ${process.getuid() === 0 ? "user root; " : ""}pid ${place.path("nginx.pid")}; error_log ${place.path("nginx.log")};\n` +
    `events {}\nhttp {\naccess_log off;\nclient_body_temp_path ${place.path("bodies")};\n${site}}\n`);
  const nginx = spawn("nginx", ["-c", file], {env: {...process.env, PATH: `${process.env.PATH}:/usr/sbin`}, stdio: "ignore"});
  const ask = (...more) => execFileSync("curl", ["-sSN", "--retry", "5", "--retry-all-errors", "--cacert", certificate, "--unix-socket", socket,
    "https://tessera.example.org/v1/completions", "-H", "Content-Type: application/json", ...more], {encoding: "utf8"});
  try {
    const events = ask("-d", '{"prompt": "And the king said", "max_tokens": 20, "stream": true}');
    assert.equal(events.match(/^data: \{/gm).length, 20);
    const text = place.write("large.json", JSON.stringify({prompt: "a", max_tokens: 1, user: "x".repeat(15 << 20)}));
    assert.equal(JSON.parse(ask("-d", `@${text}`)).usage.completion_tokens, 1);
  } finally {
    nginx.kill();
    await hidden.stop();
  }
});
