// The side of Hugging Face's tokenizers in bench/rivals/tokenizers.sh: as
//   tessera_bench data/tokenizer TOKENIZER.json TEXT
// With a third word it writes the token ids of the whole text to this file instead.
import fs from "fs";
import { createRequire } from "module";

const [tokenizerFile, textFile, idsFile] = process.argv.slice(2);
const { BPE, Tokenizer, byteLevelPreTokenizer } =
  createRequire(`${process.cwd()}/`)("tokenizers");
const text = fs.readFileSync(textFile, "utf8");

if (idsFile) {
  const encoding = await Tokenizer.fromFile(tokenizerFile).encode(text);
  fs.writeFileSync(idsFile, `${JSON.stringify(encoding.getIds())}\n`);
  process.exit();
}

async function leastCpuSeconds(work) {
  let least = Infinity;
  for (let repetition = 0; repetition < 5; ++repetition) {
    const start = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1e6);
  }
  return least;
}

const lines = text.split(/(?<=\n)/);
let tokens = 0;
const encoding = await leastCpuSeconds(async () => {
  const encodings = await Tokenizer.fromFile(tokenizerFile).encodeBatch(lines);
  tokens = encodings.reduce((sum, encoding) => sum + encoding.getLength(), 0);
});
const training = await leastCpuSeconds(() => {
  const tokenizer = new Tokenizer(BPE.empty());  // learns 30,000 tokens unless told otherwise
  tokenizer.setPreTokenizer(byteLevelPreTokenizer(false));
  tokenizer.train([textFile]);
});
const megabytes = Buffer.byteLength(text) / 1e6;
const rate = (seconds) => Number((megabytes / seconds).toFixed(2));
console.log(JSON.stringify({ encode: rate(encoding), train: rate(training), tokens }));
