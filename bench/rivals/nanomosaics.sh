#!/usr/bin/env bash
# Training beside the authors' nanoMosaics: a step of a Memory Mosaic and of a GPT of equal size, in
# float32, and ours in bf16. The programs take turns; the fastest step of all rounds counts. Prints
# one table in Markdown; every measurement goes to FOLDER/training.txt.
#
#   bench/rivals/nanomosaics.sh [FOLDER] [ROUNDS]     (build/rivals, 3)
#
# Needs git, GNU time, a Python that has PyTorch (Debian: python3-torch; PYTHON names it), and
# build/release with TESSERA_BUILD_BENCHMARKS=ON. Their code is cloned at the commit below. Threads
# that wait sleep, which doubles its speed; OpenBLAS takes its best kernels on both sides.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$root/build/rivals} rounds=${2:-3}
commit=1fff63bf1c754f87a4c1f370e02f30a259b6e825
python=${PYTHON:-/usr/bin/python3}
mkdir -p "$folder"
cd "$folder"

if [ ! -d MemoryMosaics ]; then
  git clone -q https://github.com/facebookresearch/MemoryMosaics
fi
git -C MemoryMosaics checkout -q "$commit"

ours=$root/build/release/tessera_bench
export $("$ours" program/cli/environment)
: > training.txt

# KIND CHANNELS WINDOW THREADS -> tokens a second and the process's memory, in training.txt
theirs() {
  /usr/bin/time -o memory.txt -f %M "$python" "$root/bench/rivals/nanomosaics.py" \
    MemoryMosaics/nanoMosaics "$@" 3 > step.txt
  echo "theirs-$1-fp32 $2 $4 $(sed -n 's/.*tokens_per_second": \([0-9.]*\).*/\1/p' step.txt)" \
    "$(cat memory.txt)" >> training.txt
}
# KIND PRECISION CHANNELS WINDOW THREADS -> likewise
ours() {
  /usr/bin/time -o memory.txt -f %M "$ours" model/training \
    "$3" "$4" "$5" 3 "$1 $2" > step.txt
  echo "ours-$1-$2 $3 $5 $(awk -v kind="$1" '$1 == kind { print $5 }' step.txt)" \
    "$(cat memory.txt)" >> training.txt
}
for ((round = 1; round <= rounds; ++round)); do
  for size in "256 256" "384 256" "768 512"; do
    for threads in 1 2; do
      for kind in mosaic gpt; do
        theirs $kind $size "$threads"
        ours $kind fp32 $size "$threads"
        ours $kind bf16 $size "$threads"
      done
    done
  done
done

awk '
  { key = $1 "|" $2 "|" $3
    if ($4 > best[key]) best[key] = $4
    memory[key] = $5 / 1024 }
  function ratio(side, kind, type,  key) {
    key = side "-" kind "-" type "|" size "|" threads
    return sprintf("%.0f (%.1f x)", best[key], best[key] / best["theirs-" kind "-fp32|" size "|" threads])
  }
  END {
    print "| channels | threads | model | theirs | ours, float32 | ours, bf16 | memory, MiB: theirs / float32 / bf16 |"
    print "|---|---|---|---|---|---|---|"
    split("256 384 768", sizes, " "); split("mosaic gpt", kinds, " ")
    for (s = 1; s <= 3; ++s)
      for (threads = 1; threads <= 2; ++threads)
        for (k = 1; k <= 2; ++k) {
          size = sizes[s]; kind = kinds[k]; end = "|" size "|" threads
          printf "| %s | %s | %s | %.0f | %s | %s | %.0f / %.0f / %.0f |\n", size, threads, kind,
                 best["theirs-" kind "-fp32" end], ratio("ours", kind, "fp32"),
                 ratio("ours", kind, "bf16"), memory["theirs-" kind "-fp32" end],
                 memory["ours-" kind "-fp32" end], memory["ours-" kind "-bf16" end]
        }
  }' training.txt
