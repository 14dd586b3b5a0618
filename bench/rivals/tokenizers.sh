#!/usr/bin/env bash
# Encoding the Bible and learning a vocabulary from it beside Hugging Face's tokenizers, with one
# thread: the token ids must be the same. The programs take turns; the best of all rounds counts.
# Prints one table in Markdown.
#
#   bench/rivals/tokenizers.sh [FOLDER] [ROUNDS]     (build/rivals, 3)
#
# Needs npm, node, and build/release with TESSERA_BUILD_BENCHMARKS=ON. Their library, written in
# Rust, is that of the npm package.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(realpath -m "${1:-$root/build/rivals}") rounds=${2:-3}
release=$root/build/release text=kjv.txt
export RAYON_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1
mkdir -p "$folder"
cd "$folder"

if [ ! -d node_modules/tokenizers ]; then
  npm install --ignore-scripts --no-audit --no-fund tokenizers@0.23.2 >&2
fi
[ -d kjv ] || "$release/tessera" data text --documents kjv >&2
cat kjv/*.txt > "$text"
"$release/tessera" tokenizer train "$text" --vocabulary 8192 --out tokenizer.json >&2
node "$root/bench/rivals/tokenizers.mjs" tokenizer.json "$text" theirs.ids
"$release/tessera" tokenizer encode --tokenizer tokenizer.json "$text" --json > ours.ids
cmp theirs.ids ours.ids

: > tokenizers.txt
for ((round = 1; round <= rounds; ++round)); do
  node "$root/bench/rivals/tokenizers.mjs" tokenizer.json "$text" |
    sed -n "s/^{/theirs {/p" >> tokenizers.txt
  "$release/tessera_bench" data/tokenizer tokenizer.json "$text" | sed "s/^/ours /" >> tokenizers.txt
done
awk '
  { gsub(/[{},":]/, " ")
    for (i = 2; i < NF; i += 2) if ($(i + 1) > best[$1 $i]) best[$1 $i] = $(i + 1) }
  END {
    print "| MB/s | theirs | ours |"
    print "|---|---|---|"
    split("encode train", works, " ")
    for (w = 1; w <= 2; ++w) {
      theirs = best["theirs" works[w]]; ours = best["ours" works[w]]
      printf "| %s | %.2f | %.2f (%.1f x) |\n", works[w], theirs, ours, ours / theirs
    }
    printf "| tokens | %d | %d |\n", best["theirstokens"], best["ourstokens"]
  }' tokenizers.txt
