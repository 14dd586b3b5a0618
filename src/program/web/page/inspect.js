// Asks the server which memories made a token.

import {post} from "./api.js";
import {bytesOf} from "./token_bytes.js";

const kMemories = 12;  // of each head

// The ids of a text, and which of them holds the byte `offset`.
async function tokenAt(model, text, offset, signal) {
  const reply = await post("/tokenize", {model, prompt: text, return_token_strs: true}, {signal});
  let end = 0;
  const index = reply.token_strs.findIndex((name) => (end += bytesOf(name).length) > offset);
  return {ids: reply.tokens, index};
}

// The server's account of token `index` of a WrittenText by `model`; null for the first token, which
// has nothing before it.
export async function inspect(model, written, index, signal) {
  const text = written.textWith(index, written.tokens[index].name);
  const before = written.textWith(index, "");
  if (text === null || before === null)
    throw new Error("This token begins or ends inside a character, and memories are shown of whole characters only.");
  const at = await tokenAt(model, text, new TextEncoder().encode(before).length, signal);
  if (at.index < 1) return null;
  return post("/v1/inspect", {model, tokens: at.ids.slice(0, at.index + 1), position: at.index - 1,
    memories: kMemories, alternatives: 0}, {signal});
}
