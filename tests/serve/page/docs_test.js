// The curl lines of docs/server.md, run word for word but for the port, and what they print.

import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import {after, before, test} from "node:test";
import {Workplace} from "./workplace.js";

const kPage = fs.readFileSync(new URL("../../../docs/server.md", import.meta.url), "utf8");
const kCommands = kPage.match(/## Quick start[^]*?```\n([^]*?)```/)[1].split("\n\n").map((text) => text.trim());

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
