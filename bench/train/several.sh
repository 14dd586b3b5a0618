#!/usr/bin/env bash
# Two processes of one thread each beside one process of one thread, on one machine: tokens per second of
# the same training, in rounds by turns. Each step of the two is the step of the one (accumulation = 2).
# Two trainings apart, which exchange nothing, show what the machine itself allows: caches, memory, and
# an optimiser's step for each. Prints the median of every run's steps, and the ratios of each round.
#
#   bench/train/several.sh [PROGRAM] [ROUNDS] [STEPS]     (build/release/tessera, 3, 30)
#
# On a quiet machine with two cores or more. A round takes about half a minute for each ten steps.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "${1:-$root/build/release/tessera}") rounds=${2:-3} steps=${3:-30}
. "$root/bench/train/several_runs.sh"

channels=256 window=256 batch=4
for round in $(seq "$rounds"); do
  alone=$(speed_of_one "alone$round" "$steps")
  together=$(speed_of_two "two$round" "$steps")
  apart=$(speed_apart "apart$round" "$steps")
  echo "round $round: one process $alone tokens/s, two $together, ratio $(ratio "$together" "$alone");" \
    "two trainings apart $apart, ratio $(ratio "$apart" "$alone")"
done
