#!/usr/bin/env bash
# Tokens a second beside llama.cpp: models of GPT-2's size with random weights, reading a prompt of
# 256 tokens and writing one token at a time behind them, in one stream and in 16. The programs take turns; the best of all
# rounds counts. Prints one table in Markdown; every measurement goes to FOLDER/measurements.txt.
#
#   bench/rivals/llama_cpp.sh [FOLDER] [ROUNDS]     (build/rivals, 3)
#
# Needs npm, git, a C++ compiler, and build/release with TESSERA_BUILD_BENCHMARKS=ON. llama.cpp's
# libraries are those that the npm package node-llama-cpp brings, built by its authors for each
# kind of processor; its headers come from the source in the same package.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(realpath -m "${1:-$root/build/rivals}") rounds=${2:-3}
version=3.22.1
ours=$root/build/release/tessera_bench
mkdir -p "$folder"
cd "$folder"

if [ ! -d node_modules/node-llama-cpp ]; then
  npm install --ignore-scripts --no-audit --no-fund "node-llama-cpp@$version" \
    "@node-llama-cpp/linux-x64@$version" >&2
fi
libraries=$folder/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
if [ ! -d llama.cpp ]; then
  git clone -q node_modules/node-llama-cpp/llama/gitRelease.bundle llama.cpp
fi
if [ ! -x llama_cpp ] || [ "$root/bench/rivals/llama_cpp.cpp" -nt llama_cpp ]; then
  c++ -O2 -std=c++20 -Illama.cpp/include -Illama.cpp/ggml/include \
    "$root/bench/rivals/llama_cpp.cpp" -o llama_cpp "$libraries"/libllama.*.so \
    "$libraries"/libggml.*.so "$libraries/libggml-base.so" -Wl,-rpath,"$libraries"
fi
for type in f32 f16 q8_0; do
  [ -f "$type.gguf" ] || ./llama_cpp write "$type" "$type.gguf"
done

# side weights threads {"reading": …} -> measurements.txt
measure() {
  echo "$1 $2 $3 $("${@:4}")" >> measurements.txt
}
export LLAMA_BACKENDS=$libraries
export $("$ours" program/cli/environment)
: > measurements.txt
for ((round = 1; round <= rounds; ++round)); do
  for threads in 1 2; do
    for pair in float32:f32 bf16:f16 int8:q8_0; do
      weights=${pair%:*} theirs=${pair#*:}
      for kind in gpt memory_mosaic; do
        OMP_NUM_THREADS=$threads measure "$kind" "$weights" "$threads" \
          "$ours" infer/decoding "$kind" "$weights" "$threads"
        measure llama.cpp "$weights" "$threads" ./llama_cpp time "$theirs.gguf" "$threads"
      done
    done
  done
done

# The best of each, and its ratio to llama.cpp's best.
awk '
  { gsub(/[{},":]/, " ")
    for (i = 4; i < NF; i += 2) {
      key = $1 "|" $2 "|" $3 "|" $i
      if ($(i + 1) > best[key]) best[key] = $(i + 1)
    } }
  function cell(kind, weights, threads, what,  rival) {
    rival = best["llama.cpp|" weights "|" threads "|" (what ~ /^writing/ ? what : "reading")]
    return sprintf("%.0f (%.2f x)", best[kind "|" weights "|" threads "|" what],
                   best[kind "|" weights "|" threads "|" what] / rival)
  }
  END {
    print "| weights, llama.cpp'"'"'s | threads | work | llama.cpp | GPT | Memory Mosaic |"
    print "|---|---|---|---|---|---|"
    split("float32 bf16 int8", weights, " "); split("f32 f16 q8_0", theirs, " ")
    split("writing writing_streams reading reading_on reading_full", works, " ")
    names["writing"] = "write a token"; names["writing_streams"] = "write in 16 streams"
    names["reading"] = "read a prompt"
    names["reading_on"] = "read it behind another"; names["reading_full"] = "the same, memory full"
    for (w = 1; w <= 3; ++w)
      for (t = 1; t <= 2; ++t)
        for (k = 1; k <= 5; ++k) {
          rival = k <= 3 ? sprintf("%.0f", best["llama.cpp|" weights[w] "|" t "|" works[k]]) : ""
          printf "| %s, %s | %d | %s | %s | %s | %s |\n", weights[w], theirs[w], t,
                 names[works[k]], rival, cell("gpt", weights[w], t, works[k]),
                 cell("memory_mosaic", weights[w], t, works[k])
        }
  }' measurements.txt
