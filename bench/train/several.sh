#!/usr/bin/env bash
# Two processes of one thread each beside one process of one thread, on one machine: tokens per second of
# the same training, in rounds by turns. Each step of the two is the step of the one (accumulation = 2).
# Prints the median of every run's steps, and the ratio of each round.
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
  echo "round $round: one process $alone tokens/s, two $together, ratio $(ratio "$together" "$alone")"
done
