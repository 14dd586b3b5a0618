#!/usr/bin/env bash
# Priority sort at the paper's size (STM of 8 slots and width 96, 20 vectors of 32 bits, 128 sequences in an
# update) in one process of one thread, in one of two threads, and in two processes of one thread each,
# which share every update, in rounds by turns: the median of every run's sequences per second, and ratios.
#
#   bench/train/several_stm.sh [PROGRAM] [ROUNDS] [STEPS]     (build/release/tessera, 3, 16)
#
# On a quiet machine with two cores or more. A round takes about 90 s.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "${1:-$root/build/release/tessera}") rounds=${2:-3} steps=${3:-16}
. "$root/bench/train/several_runs.sh"
unset OMP_NUM_THREADS  # --threads says it

# RUN STEPS
training() {
  cat > "$work/$1.toml" <<TOML
[task]
name = "priority-sort"
bits = 32
vectors = 20
answers = 16
[model]
kind = "stm"
[train]
steps = $2
batch = $((128 / accumulation))
accumulation = $accumulation
warmup_steps = 2
evaluate_every = 0
evaluate_batches = 1
checkpoint_every = 0
[data]
test_samples = 1
TOML
  command=("$program" --threads "$threads" train "$work/$1.toml" --out "$work/$1")
}

for round in $(seq "$rounds"); do
  accumulation=1
  threads=1 && one=$(speed_of_one "one$round" "$steps")
  threads=2 && wide=$(speed_of_one "wide$round" "$steps")
  threads=1 accumulation=2
  two=$(speed_of_two "two$round" "$steps")
  echo "round $round: one thread $one sequences/s; two threads $wide, ratio $(ratio "$wide" "$one");" \
    "two processes $two, ratio $(ratio "$two" "$one")"
done
