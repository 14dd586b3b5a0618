// Every place of the page from start to end, in a browser, against a running server.

import assert from "node:assert/strict";
import fs from "node:fs";
import {after, before, describe, test} from "node:test";
import {fits, launch, namelessControls, openPage, paleTexts} from "./browser.js";
import {smallText, tessera, Workplace} from "./workplace.js";

const kPlaces = ["write", "remember", "runs", "plan"];
const kRaven = "Once upon a midnight dreary, while I pondered, weak and weary,\n";
const kFox = "The quick brown fox jumps over the lazy dog.\nOnce upon a time there was a fox who pondered.\n";

const kBegan = Math.floor(Date.now() / 1000);

const place = new Workplace();
let browser, server;

before(async () => {
  browser = await launch();
  place.train("mosaic");
  place.train("gpt", "model.kind=gpt", "train.steps=20");
  place.store("poems", {"raven.txt": kRaven, "fox.txt": kFox});
  server = await place.serve("--model", `mosaic=${place.path("runs/mosaic/model")}`, "--model", `gpt=${place.path("runs/gpt/model")}`,
    "--store", place.path("poems"), "--runs", place.path("runs"));
});
after(async () => {
  await browser?.close();
  place.remove();
});

// Runs `use` on a fresh page; fails if it left anything on the console or asked another server.
async function onPage(hash, use, options) {
  const opened = await openPage(browser, (options?.server ?? server).origin, hash, options);
  await use(opened.page);
  await opened.close();
}

async function api(path, body) {
  const response = await fetch(server.origin + path, body === undefined ? {} :
    {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
  assert.ok(response.ok, await response.clone().text());
  return response.json();
}

const texts = (locator) => locator.allTextContents();

describe("Write", () => {
  const kAsk = "#write?prompt=the+cat+&temperature=0&tokens=30";
  const kDone = "#write .status:text-is('Done.')";
  const joined = async (page) => (await texts(page.locator("#write .written[data-index]"))).join("").replaceAll("\u21b5", "");

  test("writes what the API writes", () => onPage("#write", async (page) => {
    await page.getByLabel("Prompt", { exact: true }).fill("the cat ");
    await page.getByText("How tokens are drawn").click();
    await page.getByLabel("Temperature").fill("0");
    await page.getByLabel("Tokens to write").fill("30");
    await page.getByRole("button", {name: "Write", exact: true}).click();
    await page.waitForSelector(kDone);
    const answer = await api("/v1/completions", {model: "mosaic", prompt: "the cat ", temperature: 0, max_tokens: 30});
    assert.equal(await joined(page), answer.choices[0].text);
    assert.match(await page.locator("#write .facts").textContent(), /^30 tokens, .* a second; reached the number of tokens/);
    assert.match(page.url(), /#write\?prompt=the\+cat\+&tokens=30&temperature=0$/);
  }));

  test("a link holds the state, also of drawn texts", async () => {
    const hash = "#write?prompt=a+dog+&temperature=1&seed=7&tokens=20";
    const answer = await api("/v1/completions", {model: "mosaic", prompt: "a dog ", temperature: 1, seed: 7, max_tokens: 20});
    await onPage(hash, async (page) => {
      await page.waitForSelector(kDone);
      assert.equal(await page.getByLabel("Prompt", { exact: true }).inputValue(), "a dog ");
      if (!answer.choices[0].text.includes("\ufffd")) assert.equal(await joined(page), answer.choices[0].text);
    });
  });

  test("shows the alternatives of a token and goes on from one", () => onPage(kAsk, async (page) => {
    await page.waitForSelector(kDone);
    const before = await joined(page);
    await page.locator("#write [data-index='3']").hover();
    const shown = await texts(page.locator("#card .alternative .token-name"));
    const answer = await api("/v1/completions", {model: "mosaic", prompt: "the cat " + before.slice(0, 3), temperature: 0, max_tokens: 1, logprobs: 8});
    const expected = Object.keys(answer.choices[0].logprobs.top_logprobs[0]);
    assert.deepEqual(new Set(shown), new Set(expected.map((text) => `\u201c${text.replace("\n", "\u21b5")}\u201d`)));
    const second = page.locator("#card .alternative").nth(1);
    const letter = (await second.locator(".token-name").textContent()).slice(1, -1).replace("\u21b5", "\n");
    await second.click();
    await page.waitForSelector(kDone);
    assert.equal(await page.getByLabel("Prompt", { exact: true }).inputValue(), "the cat " + before.slice(0, 3) + letter);
    await page.goBack();
    await page.waitForFunction(() => document.querySelector("#write textarea").value === "the cat ");
    await page.waitForSelector(kDone);
    assert.equal(await joined(page), before);
  }));

  test("goes on from an alternative with keys alone", () => onPage(kAsk, async (page) => {
    await page.waitForSelector(kDone);
    const before = await joined(page);
    await page.locator("#write [data-index='3']").focus();
    await page.keyboard.press("Enter");
    await page.locator("#write .explanation .alternative").nth(1).focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction((text) => document.querySelector("#write textarea").value.startsWith(text), "the cat " + before.slice(0, 3));
    await page.waitForSelector(kDone);
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Text by mosaic");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.dataset.index), "0");
  }));

  test("shows which memories made a token, with keys alone", () => onPage(kAsk, async (page) => {
    await page.waitForSelector(kDone);
    const written = await joined(page);
    await page.locator("#write [data-index='0']").focus();
    for (let i = 0; i < 12; ++i) await page.keyboard.press("ArrowRight");
    const asked = page.waitForRequest("**/v1/inspect");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#write .parts");
    const {choices: [choice]} = await api("/v1/completions",
      {model: "mosaic", prompt: "the cat ", temperature: 0, max_tokens: 13, return_token_ids: true});
    assert.deepEqual((await asked).postDataJSON().tokens, [...choice.prompt_token_ids, ...choice.token_ids]);
    const reply = await api("/v1/inspect", {model: "mosaic", text: "the cat " + written.slice(0, 13), position: 19, memories: 12});
    const added = (await texts(page.locator("#write .parts td.number"))).map((text) => Number(text.replace("\u2212", "-").replace("+", "")));
    const heads = reply.layers.reduce((total, layer) => total + layer.heads.reduce((sum, head) => sum + head.logit, 0), 0);
    const sum = added.reduce((a, b) => a + b, 0) - 2 * heads;  // which stand there as a text's, a layer's and their own
    assert.ok(Math.abs(sum - reply.logit) < 0.005 * added.length, `${sum} is not ${reply.logit}`);
    assert.equal(await page.getByRole("button", {name: "Layer 2, head 1"}).count(), 0);
    await page.getByRole("button", {name: "Heads of layer 2"}).click();
    await page.getByRole("button", {name: "Layer 2, head 1"}).click();
    const places = page.locator("#write .memories .places tbody tr");
    const {memories} = reply.layers[1].heads[0];
    assert.equal(await places.count(), Math.min(10, memories.length));
    const loudest = memories.reduce((a, b) => (Math.abs(b.logit) > Math.abs(a.logit) ? b : a));
    const weight = parseFloat(await places.first().locator("td.number").first().textContent());
    assert.ok(Math.abs(weight - 100 * loudest.weight) <= 0.5, `${weight} % is not ${loudest.weight}`);
    assert.equal(await page.locator("#write .arcs path").count(), await places.count());
    assert.equal(await page.locator("#write .memory-text").evaluate((text) => {
      const height = text.scrollHeight;
      text.querySelector(".arcs").style.display = "none";
      return height - text.scrollHeight;
    }), 0);  // arcs make no room of their own
    assert.equal(await page.locator("#write .explained").textContent(), written[12].replace("\n", "\u21b5\n"));
    await page.getByRole("button", {name: "Layer 1, persistent memory"}).click();
    assert.equal(await places.count(), Math.min(12, reply.layers[0].slots.length));
    assert.match(await page.locator("#write .memories").textContent(), /tessera inspect --slots/);
  }));

  test("shows which memories made a part of a character", async () => {
    const {choices: [{prompt_token_ids: prompt, token_ids: ids}]} = await api("/v1/completions",
      {model: "mosaic", prompt: "the cat ", temperature: 10, seed: 1, max_tokens: 30, return_token_ids: true});
    const index = ids.findIndex((id) => id >= 128 && id < 256);
    await onPage("#write?prompt=the+cat+&temperature=10&seed=1&tokens=30", async (page) => {
      await page.waitForSelector("#write .status:has-text('Done.')");
      const asked = page.waitForRequest("**/v1/inspect");
      await page.locator(`#write [data-index='${index}']`).click();
      await page.waitForSelector("#write .parts");
      assert.deepEqual((await asked).postDataJSON().tokens, [...prompt, ...ids.slice(0, index + 1)]);
    });
  });

  test("two models beside each other", () => onPage(kAsk + "&beside=gpt", async (page) => {
    await page.waitForSelector(kDone);
    assert.deepEqual(await texts(page.locator("#write article h3")), ["mosaic", "gpt"]);
    await page.locator("#write article:nth-of-type(2) [data-index='5']").click();
    await page.waitForSelector("#write .memories .parts, #write .memories .problem");
  }, {refusals: [400]}));

  test("a token by a store shows where its words are stored", () => onPage("#write?model=poems&prompt=Once+upon+a+midnight&tokens=8", async (page) => {
    await page.waitForSelector(kDone);
    await page.locator("#write [data-index='3']").click();
    await page.waitForSelector("#write .sources-found");
    assert.match(await page.locator("#write .sources-found tbody tr").first().textContent(), /^raven\.txt1.*Once upon a midnight/);
  }));

  test("a passage shows whether its line goes on", async () => {
    await api("/v1/stores/poems/documents", {id: "keeper.txt",
      text: "In the beginning of the long and cold and very dark winter evening the old lighthouse keeper counted all his lamps " +
        "twice, and in the morning he counted them again, because one had gone out.\n"});
    await onPage("#write?model=poems&prompt=the+old+lighthouse+keeper&tokens=8", async (page) => {
      await page.waitForSelector(kDone);
      await page.locator("#write [data-index='3']").click();
      await page.waitForSelector("#write .sources-found");
      assert.match(await page.locator("#write .sources-found td:last-child").textContent(), /^\u2026.*the old lighthouse keeper.*\u2026$/);
    });
    await fetch(`${server.origin}/v1/stores/poems/documents/keeper.txt`, {method: "DELETE"});
  });

  test("begins with an example", () => onPage("#write", async (page) => {
    // It comes with the list of models, after the page.
    await page.waitForFunction(() => document.querySelector("#write [name=prompt]").value === "Once upon a time");
  }));

  test("says in words what the server refuses", () => onPage("#write", async (page) => {
    await page.getByLabel("Prompt", { exact: true }).fill("a");
    await page.evaluate(() => { document.querySelector("#write form").noValidate = true; });
    await page.getByText("How tokens are drawn").click();
    await page.getByLabel("Top p").fill("0.5");
    await page.evaluate(() => document.querySelector("#write select[name=model]").append(new Option("none", "none", true, true)));
    await page.getByRole("button", {name: "Write", exact: true}).click();
    await page.waitForSelector("#write .problem:visible");
    assert.match(await page.locator("#write .problem").textContent(), /there is no model 'none'/);
    assert.equal(await page.locator("#write .status").textContent(), "Failed.");
  }, {refusals: [404]}));

  test("shows the value that keeps it from writing", () => onPage("#write?prompt=a&temperature=warm", async (page) => {
    await page.getByLabel("Temperature").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.name), "temperature");
  }));

  test("a link to a model that is not there writes with no other one", () => onPage("#write?prompt=a&model=none", async (page) => {
    await page.getByText("This server has no model none.").waitFor();
    assert.equal(await page.locator("#write article").count(), 0);
  }));
});

describe("The page of tessera inspect", () => {
  test("shows what the server's page shows, offline", async () => {
    const model = place.path("runs/mosaic/model"), file = place.path("inspect.html");
    tessera("inspect", "--model", model, "--text", "the cat sees the dog and the cat", "--slots");
    tessera("inspect", "--model", model, "--text", "the cat sees", "--page", file);
    const inspection = JSON.parse(tessera("inspect", "--model", model, "--text", "the cat sees", "--position", "10", "--json"));
    const opened = await openPage(browser, `file://${place.folder}`, "inspect.html");
    const {page} = opened;
    assert.equal((await texts(page.locator(".inspected [data-index]"))).join(""), "he cat sees");
    await page.locator("[data-index='10']").click();
    await page.waitForSelector(".parts");
    const parts = await texts(page.locator(".parts tbody td:first-child"));
    assert.ok(parts.includes("Layer 1, persistent memory"), parts.join());
    const embedding = await page.locator(".parts tr", {hasText: "Embedding"}).locator("td.number").textContent();
    assert.equal(Number(embedding.replace("\u2212", "-")).toFixed(2), inspection.embedding.toFixed(2));
    assert.equal(await page.locator(".explained").textContent(), "s");
    await page.getByRole("button", {name: "Layer 1, persistent memory"}).click();
    const {head, slot} = inspection.layers[0].slots[0];
    const [reader] = inspection.slot_readers[`0.${head}.${slot}`];
    const first = page.locator(".places tbody tr").first();
    assert.ok((await first.textContent()).startsWith(`Head ${head + 1}, slot ${slot}`));
    assert.equal(await first.locator(".stored-at b").first().textContent(), reader.token);
    assert.ok(await fits(page));
    assert.deepEqual(await namelessControls(page), []);
    await opened.close();
  });

  test("shows what rounding adds as a part", async () => {
    const html = fs.readFileSync(place.path("inspect.html"), "utf8");
    const raised = html.replace(/("token":\{[^}]*\},"logit":)([^,]*)/g, (_, before, logit) => before + (Number(logit) + 0.5));
    for (const [page, rows] of [[html, 0], [raised, 1]]) {
      place.write("rounded.html", page);
      const opened = await openPage(browser, `file://${place.folder}`, "rounded.html");
      await opened.page.waitForSelector(".parts");
      const rounding = opened.page.locator(".parts tr", {hasText: "Rounding"});
      assert.equal(await rounding.count(), rows);
      if (rows > 0) assert.equal(await rounding.locator("td.number").textContent(), "+0.50");
      await opened.close();
    }
  });

  test("names the tier of each head", async () => {
    place.train("../mosaic_v2", "model.kind=memory_mosaic_v2", "train.steps=20");
    tessera("inspect", "--model", place.path("mosaic_v2/model"), "--text", "the cat sees", "--page", place.path("tiers.html"));
    const opened = await openPage(browser, `file://${place.folder}`, "tiers.html");
    await opened.page.locator("[data-index='10']").click();
    await opened.page.waitForSelector(".parts");
    const parts = await texts(opened.page.locator(".parts tbody td:first-child"));
    assert.deepEqual(parts.slice(2, 7), ["Layer 1, short-term head 1", "Layer 1, short-term head 2",
      "Layer 1, long-term head 1", "Layer 1, long-term head 2", "Layer 1, persistent memory"]);
    await opened.close();
  });
});

describe("Remember", () => {
  const kAsk = "#remember?store=poems&prompt=Once+upon+a+midnight";
  const names = (page) => texts(page.locator("#remember .documents .name"));

  test("recites with every token in the colour of its document", () => onPage("#remember", async (page) => {
    await page.waitForSelector("#remember [role=meter]");
    assert.deepEqual(await names(page), ["fox.txt", "raven.txt"]);
    await page.getByLabel("How the text begins").fill("Once upon a midnight");
    await page.getByRole("button", {name: "Ask"}).click();
    await page.waitForSelector("#remember .recited");
    const tokens = await texts(page.locator("#remember .recited"));
    assert.ok(kRaven.startsWith("Once upon a midnight" + tokens.join("").replaceAll("\u21b5", "")));
    assert.match(await page.locator("#remember .source").first().textContent(), /^raven\.txt: \d+ tokens, lines? \d+( to \d+)?$/);
    await page.locator("#remember [data-index='2']").hover();
    assert.deepEqual((await texts(page.locator("#card tbody td"))).slice(0, 2), ["raven.txt", "1"]);
    const stat = await api("/v1/stores/poems/stat");
    assert.equal(Number(await page.getByRole("meter", {name: "Load"}).getAttribute("aria-valuenow")), stat.load);
  }));

  test("lists documents with their sizes and dates", () => onPage("#remember", async (page) => {
    await page.waitForSelector("#remember .documents td");
    const {data: [, raven]} = await api("/v1/stores/poems/documents");
    assert.equal(raven.bytes, kRaven.length);
    assert.ok(kBegan <= raven.memorized && raven.memorized <= Date.now() / 1000);
    const memorized = await page.evaluate((seconds) =>
      new Date(1000 * seconds).toLocaleString("en-GB", {dateStyle: "medium", timeStyle: "short"}), raven.memorized);
    const facts = await page.locator("#remember .documents tr", {hasText: "raven.txt"}).locator("small").textContent();
    assert.equal(facts, `${kRaven.length} bytes \u00b7 ${kRaven.length + 1} tokens \u00b7 ${memorized}`);
  }));

  test("memorizes a dropped file, asks before it replaces one", () => onPage("#remember", async (page) => {
    await page.waitForSelector("#remember .documents td");
    const drop = await page.evaluateHandle((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], "small.txt", {type: "text/plain"}));
      return data;
    }, smallText(300));
    await page.dispatchEvent("#remember .drop", "drop", {dataTransfer: drop});
    await page.getByText("small.txt is memorized.").waitFor();
    assert.deepEqual(await names(page), ["fox.txt", "raven.txt", "small.txt"]);
    const file = {name: "small.txt", mimeType: "text/plain", buffer: Buffer.from("Another text of the same name.\n")};
    await page.getByLabel("Drop a text file here").setInputFiles(file);
    await page.getByRole("button", {name: "Replace it"}).click();
    await page.getByText("small.txt is replaced.").waitFor();
    const stored = await api("/v1/stores/poems/documents/small.txt");
    assert.equal(stored.text, "Another text of the same name.\n");
    const several = ["one", "two", "three", "four", "five", "six"].map((name) =>
      ({name: `${name}.txt`, mimeType: "text/plain", buffer: Buffer.from(`The ${name} of us.\n`)}));
    await page.getByLabel("Drop a text file here").setInputFiles(several.slice(0, 2));
    await page.getByText("one.txt and two.txt are memorized.").waitFor();
    await page.getByLabel("Drop a text file here").setInputFiles(several.slice(2));
    await page.getByText("4 documents are memorized.").waitFor();
    for (const {name} of several) await fetch(`${server.origin}/v1/stores/poems/documents/${name}`, {method: "DELETE"});
    const binary = {name: "binary.txt", mimeType: "text/plain", buffer: Buffer.from([0x61, 0xff, 0xfe])};
    await page.getByLabel("Drop a text file here").setInputFiles(binary);
    await page.locator("#remember .job .problem").waitFor();
    assert.match(await page.locator("#remember .job .problem").textContent(), /^binary\.txt: .*UTF-8/);
  }, {refusals: [409, 422]}));

  test("forgets a document and shows what is different", () => onPage(kAsk, async (page) => {
    await page.waitForSelector("#remember .recited");
    await page.getByRole("button", {name: "Forget raven.txt"}).click();
    await page.getByRole("button", {name: "Keep"}).click();
    assert.ok((await names(page)).includes("raven.txt"));
    await page.getByRole("button", {name: "Forget raven.txt"}).click();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", {name: "Before"}).waitFor();
    await page.waitForFunction(() => document.activeElement.matches(".forget button"));
    assert.ok(!(await names(page)).includes("raven.txt"));
    assert.ok(await page.locator("#remember .one-recital").first().locator(".gone").count() > 10);
    const after = (await texts(page.locator("#remember .one-recital").nth(1).locator(".recited"))).join("");
    assert.ok(!after.includes("dreary"));
  }));

  test("what comes late of another store is neither shown nor changed", async () => {
    place.store("letters", {"same.txt": "Dear friend, the ship has come.\n"});
    place.store("notes", {"same.txt": "The lamp went out at nine.\n"});
    const two = await place.serve("--store", place.path("letters"), "--store", place.path("notes"));
    await onPage("#remember?store=letters", async (page) => {
      let release;
      const held = new Promise((resolve) => { release = resolve; });
      const hold = (path) => page.route(path, async (route) => {
        await held;
        await route.continue().catch(() => {});  // it was given up
      });
      await page.waitForSelector("#remember .documents td");
      await hold("**/letters/recall*");
      await page.getByLabel("How the text begins").fill("Dear friend");
      await page.getByRole("button", {name: "Ask"}).click();
      const store = page.locator("#remember select[name=store]");
      const shown = page.waitForResponse("**/notes/documents?*");
      await store.selectOption("notes");
      await shown;
      await page.getByText("27 bytes").waitFor();
      await hold("**/letters/stat");
      await store.selectOption("letters");
      await page.getByRole("button", {name: "Forget same.txt"}).click();  // of the notes, which are still shown
      const forgotten = page.waitForResponse("**/notes/documents/same.txt*");
      await page.getByRole("button", {name: "Forget for good"}).click();
      await forgotten;
      release();
      await page.getByText("32 bytes").waitFor();
      assert.equal(await page.locator("#remember .recited").count(), 0);
    }, {server: two});
    await two.stop();
  });

  test("shows a hundred documents, and more when asked", async () => {
    place.store("many", Object.fromEntries(Array.from({length: 101}, (_, i) => [`${1000 + i}.txt`, `The page ${i}.\n`])));
    const many = await place.serve("--store", place.path("many"));
    await onPage("#remember", async (page) => {
      await page.getByRole("button", {name: "Forget 1099.txt"}).waitFor();
      assert.equal((await names(page)).length, 100);
      await page.getByRole("button", {name: "Show more of 101 documents"}).click();
      await page.getByRole("button", {name: "Forget 1100.txt"}).waitFor();
      assert.equal(await page.getByRole("button", {name: "Show more"}).count(), 0);
    }, {server: many});
    await many.stop();
  });

  test("what could not be forgotten can be tried again", () => onPage("#remember", async (page) => {
    const forget = page.getByRole("button", {name: "Forget fox.txt"});
    await forget.click();
    await page.route("**/documents/fox.txt*", (route) => route.fulfill({status: 503, json: {error: {message: "busy"}}}));
    await page.getByRole("button", {name: "Forget for good"}).click();
    await page.locator("#remember .documents .problem", {hasText: "busy"}).waitFor();
    await forget.click();
    await page.getByRole("button", {name: "Keep"}).click();
  }, {refusals: [503]}));

  test("says that a text is erased later where another process still reads it", () => onPage("#remember", async (page) => {
    await page.getByRole("button", {name: "Forget fox.txt"}).click();
    await page.route("**/documents/fox.txt*", (route) => route.fulfill({contentType: "text/event-stream",
      body: 'data: {"id": "fox.txt", "deleted": true, "erasure_pending": true}\n\ndata: [DONE]\n\n'}));
    await page.getByRole("button", {name: "Forget for good"}).click();
    await page.getByText("fox.txt is forgotten; another program still reads the store").waitFor();
    await page.route("**/documents?*", (route) => route.request().method() !== "POST" ? route.fallback() : route.fulfill({
      contentType: "text/event-stream",
      body: 'data: {"id": "fox.txt", "outcome": "replaced", "erasure_pending": true}\n\ndata: [DONE]\n\n'}));
    await page.getByLabel("Drop a text file here").setInputFiles({name: "fox.txt", mimeType: "text/plain", buffer: Buffer.from("A text.\n")});
    await page.getByText("fox.txt is replaced; another program still reads the store").waitFor();
  }));

  test("a store that is not there", () => onPage("#remember?store=none", async (page) => {
    await page.getByText("This server has no store none.").waitFor();
  }));
});

describe("Runs", () => {
  const pathOf = (page) => page.locator("#runs path.line").first().getAttribute("d");

  test("draws a curve that grows with the run", () => onPage("#runs?runs=%5B%22mosaic%22%5D&curve=training+loss", async (page) => {
    await page.waitForFunction(() => document.querySelector("#runs path.line")?.getAttribute("d").split("L").length === 60);
    fs.appendFileSync(place.path("runs/mosaic/metrics.jsonl"), JSON.stringify({kind: "step", step: 61, tokens: 31232, loss: 9.25, elapsed_seconds: 9}) + "\n");
    await page.getByText("mosaic: 9.25 after 61 updates").waitFor();
    assert.equal((await pathOf(page)).split("L").length, 61);
    await page.getByLabel("Curve").selectOption("validation loss");
    await page.waitForFunction(() => document.querySelector("#runs path.line").getAttribute("d").split("L").length <= 4);
    assert.match(page.url(), /curve=validation\+loss/);
    await page.locator("#runs svg text", {hasText: "validation loss (nats per token)"}).waitFor();
  }));

  test("shows validation first, whatever it measures", async () => {
    fs.mkdirSync(place.path("tasks/sort"), {recursive: true});
    place.write("tasks/sort/config.toml", "seed = 1\n");
    const lines = [{kind: "step", step: 1, tokens: 8, loss: 2.5, elapsed_seconds: 1},
      {kind: "evaluation", step: 1, metrics: {wrong_bits: 3.25}, elapsed_seconds: 1}];
    place.write("tasks/sort/metrics.jsonl", lines.map((line) => JSON.stringify(line) + "\n").join(""));
    const tasks = await place.serve("--runs", place.path("tasks"));
    await onPage("#runs", async (page) => {
      await page.getByText(/^sort: 3.25 after 1 updates/).waitFor();
      assert.deepEqual(await texts(page.locator("#runs [name=curve] option")), ["validation wrong bits", "training loss"]);
      await page.getByLabel("Curve").selectOption("training loss");
      await page.locator("#runs svg text", {hasText: /^\S training loss$/}).waitFor();
    }, {server: tasks});
  });

  test("draws values that rounding alone tells apart", async () => {
    fs.mkdirSync(place.path("level/flat"), {recursive: true});
    place.write("level/flat/config.toml", "seed = 1\n");
    const lines = [1, 1 - Number.EPSILON].map((loss, i) => ({kind: "step", step: i + 1, tokens: i + 1, loss, elapsed_seconds: 1}));
    place.write("level/flat/metrics.jsonl", lines.map((line) => JSON.stringify(line) + "\n").join(""));
    const level = await place.serve("--runs", place.path("level"));
    await onPage("#runs", async (page) => {
      await page.getByText(/^flat: 1 after 2 updates/).waitFor();
      assert.equal((await pathOf(page)).split("L").length, 2);
    }, {server: level});
    const near = [5.5441, 5.5509].map((loss, i) => ({kind: "step", step: 4000 * (i + 1), tokens: i + 1, loss, elapsed_seconds: 1}));
    place.write("level/flat/metrics.jsonl", near.map((line) => JSON.stringify(line) + "\n").join(""));
    await onPage("#runs", async (page) => {
      await page.getByText(/^flat: 5.55 after 8,000 updates/).waitFor();
      const ticks = await texts(page.locator("#runs svg text"));
      assert.equal(new Set(ticks).size, ticks.length, `ticks that look equal: ${ticks}`);
      const cut = await page.locator("#runs svg").evaluate((svg) => [...svg.querySelectorAll("text")]
        .filter((text) => text.getBoundingClientRect().right > svg.getBoundingClientRect().right).map((text) => text.textContent));
      assert.deepEqual(cut, []);
    }, {server: level});
  });

  test("shows samples, the latest first", () => onPage("#runs?runs=%5B%22gpt%22%5D", async (page) => {
    const write = (step, text) => fs.appendFileSync(place.path("runs/gpt/metrics.jsonl"), JSON.stringify({kind: "sample", step, text}) + "\n");
    write(61, "the cat <b>sees</b>\nyou.");
    await page.getByText("Samples during training").waitFor();
    write(62, "a dog likes three apples.");
    await page.getByText("a dog likes three apples.").waitFor();
    assert.deepEqual(await texts(page.locator("#runs .samples td")),
      ["gpt", "62", "a dog likes three apples.", "gpt", "61", "the cat <b>sees</b>\nyou."]);
  }));

  test("a link names one run, or one that is not there", async () => {
    await onPage("#runs?runs=gpt&curve=training+loss", (page) => page.getByText(/^gpt: .* updates/).waitFor());
    await onPage("#runs?runs=none", (page) => page.getByText("This server has no run none.").waitFor());
  });

  test("says that a server which has ended sends no more", async () => {
    const short = await place.serve("--model", place.path("runs/gpt/model"), "--runs", place.path("runs"));
    const {page} = await openPage(browser, short.origin, "#runs?runs=%5B%22gpt%22%5D&curve=training+loss");
    await page.waitForSelector("#runs path.line");
    process.kill(short.pid, "SIGTERM");
    await page.getByText("The connection ended").waitFor();
    await page.context().close();
  });

  test("compares runs, opens a report", () => onPage("#runs?runs=%5B%22mosaic%22%5D&curve=training+loss", async (page) => {
    await page.getByRole("checkbox", {name: "gpt"}).check();
    await page.waitForFunction(() => document.querySelectorAll("#runs path.line").length === 2);
    const row = page.locator("#runs .differences tr", {hasText: "model.kind"});
    await row.waitFor();
    assert.deepEqual(await texts(row.locator("td")), ["model.kind", "memory_mosaic", "gpt"]);
    const [report] = await Promise.all([page.waitForEvent("popup"), page.locator("#runs a", {hasText: "Report"}).first().click()]);
    await report.waitForSelector("h1");
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll("#runs path.line").length === 2);
  }));
});

describe("Plan", () => {
  const kDone = "#plan .status:text-matches('^(Each dot|Dimensions)')";

  test("draws predicted beside simulated errors", () => onPage("#plan?inputs=2&dimension=4", async (page) => {
    await page.waitForSelector(kDone);
    const plan = await api("/v1/plan", {alpha: 1.5, inputs: 100, outputs: 5, dimension: 16, runs: 3});
    const row = await texts(page.locator("#plan .answer tr:has(td:text-is('16')) td"));
    assert.equal(row[1], String(plan.stored));
    assert.equal(row[2], (100 * plan.predicted_error).toFixed(plan.predicted_error < 0.0995 ? 1 : 0) + " %");
    assert.ok(await page.locator("#plan circle.fill").count() >= 3);
    assert.equal(await page.locator("#plan circle.hollow").count(), 1);
    await page.locator("#plan input[name=dimension]").press("ArrowRight");
    await page.waitForSelector("#plan .answer b:text-is('17')");
  }));

  test("finds the dimension for an error", () => onPage("#plan?inputs=2", async (page) => {
    await page.getByLabel("the error").check();
    await page.getByText("Needed: dimension").waitFor();
    await page.waitForSelector(kDone);
    assert.match(page.url(), /known=error/);
  }));
});

describe("Everywhere", () => {
  test("all controls have names, and a phone is wide enough", async () => {
    for (const name of kPlaces)
      await onPage(`#${name}`, async (page) => {
        await page.locator(`#${name} h2`).waitFor();
        if (name === "runs") await page.getByText("mosaic").first().waitFor();  // it stays connected
        else await page.waitForLoadState("networkidle");
        assert.deepEqual(await namelessControls(page), [], name);
        assert.ok(await fits(page), `${name} is wider than a phone`);
        assert.equal(await page.locator("nav [aria-current=page]").getAttribute("data-place"), name);
      }, {phone: true});
  });

  test("every text is dark or light enough to be read", async () => {
    const shown = {"#write?prompt=the+cat+&tokens=100&temperature=2": ".status:text-is('Done.')",
      "#remember?store=poems&prompt=Once+upon+a": ".source",
      "#runs?runs=%5B%22mosaic%22%2C%22gpt%22%5D": ".differences td", "#plan?inputs=2&dimension=4": "circle.fill"};
    for (const dark of [false, true])
      for (const [hash, last] of Object.entries(shown))
        await onPage(hash, async (page) => {
          await page.waitForSelector(last);
          const token = page.locator(".written[data-index]").first();
          if (await token.count()) {
            await token.click();
            await page.waitForSelector(".stored-at");
          }
          assert.deepEqual(await paleTexts(page), [], `${hash}, dark: ${dark}`);
        }, {dark});
  });

  test("a place keeps its state while another one is shown", () => onPage("#write?prompt=my+sister+&temperature=0", async (page) => {
    await page.waitForSelector("#write .status:text-is('Done.')");
    await page.getByRole("link", {name: "Plan"}).click();
    await page.getByRole("heading", {name: "Plan"}).waitFor();
    await page.getByRole("link", {name: "Write"}).click();
    assert.equal(await page.getByLabel("Prompt", { exact: true }).inputValue(), "my sister ");
    assert.ok(await page.locator("#write .written[data-index]").count() > 0);
  }));

  test("asks for the key of a server that has one", async () => {
    const keys = place.write("keys", "open-sesame\n");
    const closed = await place.serve("--model", `mosaic=${place.path("runs/mosaic/model")}`, "--api-key-file", keys);
    await onPage("#write", async (page) => {
      await page.getByLabel("This server asks for a key").fill("open-sesame");
      await page.getByRole("button", {name: "Use it"}).click();
      await page.locator("#write option", {hasText: "mosaic"}).first().waitFor({state: "attached"});
      await page.getByRole("link", {name: "Remember"}).click();
      await page.getByText("This server has no store.").waitFor();
    }, {server: closed, refusals: [401]});
    await closed.stop();
  });

  test("says what the server does not have, without a form for it", async () => {
    const plans = await place.serve("--runs", place.path("runs"));
    await onPage("#write", async (page) => {
      await page.getByText("This server has no model to write with.").waitFor();
      assert.ok(!(await page.getByLabel("Prompt", {exact: true}).isVisible()));
    }, {server: plans});
    await plans.stop();
  });

  test("an address that names no place shows the first one", () => onPage("#constructor", async (page) => {
    await page.getByRole("heading", {name: "Write"}).waitFor();
  }));

  test("says that the server has gone", async () => {
    const short = await place.serve("--model", `mosaic=${place.path("runs/mosaic/model")}`);
    const {page} = await openPage(browser, short.origin, "#write");
    await page.locator("#write option", {hasText: "mosaic"}).first().waitFor({state: "attached"});
    await short.stop();
    await page.getByRole("button", {name: "Write", exact: true}).click();
    await page.getByText("The server does not answer.").waitFor();
    await page.context().close();
  });
});
