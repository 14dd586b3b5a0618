#!/usr/bin/env bash
# Training beside llm.c: a step of a GPT-2 of 124 million parameters, 2 sequences of 512 tokens, in
# llm.c's float32 program and in ours, in float32 and bf16. The programs take turns; the fastest
# step of all rounds counts. Prints one table in Markdown; every measurement goes to FOLDER/llm_c.txt.
#
#   bench/rivals/llm_c.sh [FOLDER] [ROUNDS]     (build/rivals, 3)
#
# Needs git, make, a C compiler, GNU time, Python with NumPy, and build/release with
# TESSERA_BUILD_BENCHMARKS=ON. llm.c is cloned at the commit below and built by its own Makefile;
# its program has the size of a batch and the number of steps as constants, which are set to ours,
# and a validation loss before the first step, which is left out. Weights and tokens are random.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$root/build/rivals} rounds=${2:-3}
commit=f1e2ace651495b74ae22d45d1723443fd00ecd3a
python=${PYTHON:-/usr/bin/python3}
mkdir -p "$folder"
cd "$folder"

if [ ! -d llm.c ]; then
  git clone -q https://github.com/karpathy/llm.c
fi
git -C llm.c checkout -q "$commit"
if [ ! -x llm.c/train_gpt2 ]; then
  sed -i -e 's/int B = 4;/int B = 2;/' -e 's/int T = 64;/int T = 512;/' \
    -e 's/val_num_batches = 5;/val_num_batches = 0;/' -e 's/step <= 40;/step < 3;/' llm.c/train_gpt2.c
  make -s -C llm.c train_gpt2 CI=true >&2
fi
if [ ! -f llm.c/dev/data/tinyshakespeare/tiny_shakespeare_val.bin ]; then  # the last one that is written
  "$python" - <<'END'
import os
import numpy

def header(*numbers):
    return numpy.array(numbers + (0,) * (256 - len(numbers)), numpy.int32).tobytes()

random = numpy.random.default_rng(0)
channels, layers, positions, vocabulary, padded = 768, 12, 1024, 50257, 50304
parameters = (padded + positions) * channels + layers * (12 * channels + 13) * channels + 2 * channels
with open("llm.c/gpt2_124M.bin", "wb") as model:
    model.write(header(20240326, 3, positions, vocabulary, layers, 12, channels, padded))
    model.write((0.02 * random.standard_normal(parameters, numpy.float32)).tobytes())
os.makedirs("llm.c/dev/data/tinyshakespeare", exist_ok=True)
for part in "train", "val":
    tokens = (random.random(20000) ** 2 * vocabulary).astype(numpy.uint16)
    with open(f"llm.c/dev/data/tinyshakespeare/tiny_shakespeare_{part}.bin", "wb") as text:
        text.write(header(20240520, 1, len(tokens)) + tokens.tobytes())
END
fi

ours=$root/build/release/tessera_bench
export $("$ours" program/cli/environment)
: > llm_c.txt

# THREADS -> tokens a second and the process's memory, in llm_c.txt
theirs() {
  (cd llm.c && OMP_NUM_THREADS=$1 /usr/bin/time -o ../memory.txt -f %M ./train_gpt2) > steps.txt
  awk -v threads="$1" '/^step/ { sub(/ ms\)/, ""); seconds = $NF / 1000
                                 if (!best || seconds < best) best = seconds }
       END { printf "theirs %s %.1f ", threads, 1024 / best }' steps.txt >> llm_c.txt
  cat memory.txt >> llm_c.txt
}
# KIND PRECISION THREADS -> likewise
ours() {
  /usr/bin/time -o memory.txt -f %M "$ours" model/training \
    768 512 "$3" 3 "$1 $2" > step.txt
  echo "$1-$2 $3 $(awk -v kind="$1" '$1 == kind { print $5 }' step.txt) $(cat memory.txt)" >> llm_c.txt
}
for ((round = 1; round <= rounds; ++round)); do
  for threads in 1 2; do
    theirs "$threads"
    for kind in gpt mosaic; do
      ours $kind fp32 "$threads"
      ours $kind bf16 "$threads"
    done
  done
done

awk '
  { key = $1 "|" $2
    if ($3 > best[key]) best[key] = $3
    memory[key] = $4 / 1024 }
  function cell(kind, threads,  key) {
    key = kind "|" threads
    return sprintf("%.0f (%.1f x), %.0f MiB", best[key], best[key] / best["theirs|" threads], memory[key])
  }
  END {
    print "| threads | llm.c, float32 | GPT, float32 | GPT, bf16 | Mosaic, float32 | Mosaic, bf16 |"
    print "|---|---|---|---|---|---|"
    for (threads = 1; threads <= 2; ++threads)
      printf "| %s | %.0f, %.0f MiB | %s | %s | %s | %s |\n", threads, best["theirs|" threads],
             memory["theirs|" threads], cell("gpt-fp32", threads), cell("gpt-bf16", threads),
             cell("mosaic-fp32", threads), cell("mosaic-bf16", threads)
  }' llm_c.txt
