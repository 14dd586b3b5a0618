#!/usr/bin/env bash
# What more cores bring: tokens per second of training, reading, writing, 16 streams, and memorising and
# recalling a text on 1, 2, 4, … and all cores, each measurement on the first of them (taskset).
# The last columns are a guess for 16 and 64 cores by Amdahl's law from the largest number that was
# measured: they say what to expect where nothing else, such as memory, becomes scarce.
#
#   bench/scaling/cores.sh [BUILD_FOLDER] [REPETITIONS]     (build/release, 3)
#
# On a quiet machine; some four minutes for each number of cores.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "${1:-$root/build/release}") repetitions=${2:-3}

# CORES COMMAND…
on_cores() { OMP_NUM_THREADS=$1 OPENBLAS_NUM_THREADS=$1 taskset -c "0-$(($1 - 1))" "${@:2}"; }

# CORES: lines "what<TAB>tokens per second"
measure() {
  on_cores "$1" "$build/tessera_bench" model/training 256 256 "$1" 4 "mosaic fp32" |
    awk '/^mosaic fp32/ { print "training, Mosaic of 4 blocks\t" $(NF - 4) }'
  local type
  for type in float32 bf16; do
    on_cores "$1" "$build/tessera_bench" infer/decoding memory_mosaic $type "$1" | tr -d '{}" ' | tr ',' '\n' |
      awk -F: -v type=$type '
        $1 == "reading" { print "reading, " type "\t" $2 }
        $1 == "writing" { print "writing, " type "\t" $2 }
        $1 == "writing_streams" { print "16 streams, " type "\t" $2 }'
  done
  on_cores "$1" "$build/tessera_bench" memo/text_memory --benchmark_format=csv \
    --benchmark_filter='(memorize|recall)_bound/d:2048(/batch:256)?/real_time' 2>/dev/null |
    awk -F, '/^"?name/ { for (i = 1; i <= NF; ++i) if ($i ~ /^"?tok\/s"?$/) rate = i }
             /^"?memorize/ { print "memorising, d 2048\t" $rate } /^"?recall/ { print "recalling, 256 at a time\t" $rate }'
}

counts=()
for ((n = 1; n < $(nproc); n *= 2)); do counts+=("$n"); done
counts+=("$(nproc)")
results=$(mktemp)
trap 'rm -f "$results"' EXIT
for ((round = 1; round <= repetitions; ++round)); do
  for n in "${counts[@]}"; do
    echo "round $round of $repetitions, $n of $(nproc) cores" >&2
    measure "$n" | sed "s/^/$n\t/" >> "$results"
  done
done

# The best of the rounds counts: other work on the machine only slows.
awk -F'\t' -v counts="${counts[*]}" '
  { if (!($2 in seen)) { seen[$2] = 1; order[++rows] = $2 }
    if ($3 + 0 > best[$2, $1]) best[$2, $1] = $3 + 0 }
  END {
    m = split(counts, cores, " "); largest = cores[m]
    printf "%-30s %12s", "tokens per second", "1 core"
    for (i = 2; i <= m; ++i) printf " %16s", cores[i] " cores"
    printf " %10s %10s\n", "16 (guess)", "64 (guess)"
    for (r = 1; r <= rows; ++r) {
      what = order[r]; one = best[what, 1]
      printf "%-30s %12.1f", what, one
      for (i = 2; i <= m; ++i) printf " %16s", sprintf("%.1f (%.2f x)", best[what, cores[i]], best[what, cores[i]] / one)
      if (m > 1) {
        serial = (largest / (best[what, largest] / one) - 1) / (largest - 1)
        if (serial < 0) serial = 0
        for (n = 16; n <= 64; n *= 4) printf " %8.1f x", 1 / (serial + (1 - serial) / n)
      }
      printf "\n"
    }
  }' "$results"
