#!/usr/bin/env bash
# Two hosts as network namespaces, joined by a link of a bandwidth and a delay (link.py): how much of a training
# step is communication, and how much of the communication goes on during the backward pass.
#
#   bench/train/hosts.sh [PROGRAM] [STEPS] [MBIT_PER_S] [DELAY_MS]     (build/release/tessera, 20, 1000, 1)
#
# For each model (by channels) four times, medians over steps, of one thread each:
#   alone     one process computes one micro-batch
#   exchange  the gradients over the link with nearly no computing: two processes with short texts, less one alone
#   local     two processes, one micro-batch each, on the loopback
#   link      the same over the link
# waiting = link - alone: what the exchange adds to a step. overlap = 1 - waiting / exchange.
# Prints a table and writes it, as CSV, to hosts.csv in the current folder. Needs root, ip, python3.
# On a quiet machine with three cores or more: the link is a process of its own.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "${1:-$root/build/release/tessera}") steps=${2:-20} rate=${3:-1000} delay=${4:-1}
. "$root/bench/train/several_runs.sh"

link=
remove_link() {
  [ -z "$link" ] || kill "$link" || true
  for name in tessera0 tessera1; do ip netns del $name 2>/dev/null || true; done
  clean_up
}
trap remove_link EXIT
for name in tessera0 tessera1; do ip netns add $name; done
python3 "$root/bench/train/link.py" tessera0 10.77.0.1 tessera1 10.77.0.2 "${rate}e6" "${delay}e-3" \
  > "$work/link" &
link=$!
until grep -q ready "$work/link"; do kill -0 "$link"; sleep 0.05; done

over_link() { speed_of_two "$1" "$2" "ip netns exec tessera0" "ip netns exec tessera1" 10.77.0.1; }
# MICRO_BATCHES SPEED: seconds of a step.
seconds() { python3 -c "print($1 * $batch * $window / $2)"; }

echo "channels,parameters,bytes,alone,exchange,local,link" > hosts.csv
for channels in 32 128 256 512; do
  window=16 batch=1
  accumulation=1
  short=$(seconds 1 "$(speed_of_one "short$channels" "$steps")")
  accumulation=2
  short_link=$(seconds 2 "$(over_link "shortlink$channels" "$steps")")
  window=256 batch=4
  accumulation=1
  alone=$(seconds 1 "$(speed_of_one "alone$channels" "$steps")")
  accumulation=2
  local_=$(seconds 2 "$(speed_of_two "local$channels" "$steps")")
  linked=$(seconds 2 "$(over_link "link$channels" "$steps")")
  bytes=$(stat -c %s "$work/alone$channels/model/model.safetensors")
  python3 - "$channels" "$bytes" "$alone" "$short" "$short_link" "$local_" "$linked" <<'PY'
import sys
channels, size = int(sys.argv[1]), int(sys.argv[2])
alone, short, short_link, local, link = map(float, sys.argv[3:])
exchange, waiting = short_link - short, link - alone
print(f"{channels} channels, {size / 1e6:.1f} MB: alone {alone:.3f} s, exchange {exchange:.3f} s, "
      f"two on the loopback {local:.3f} s, over the link {link:.3f} s: "
      f"{waiting / link:.0%} of a step is waiting, overlap {1 - waiting / exchange:.0%}")
with open("hosts.csv", "a") as table:
    table.write(f"{channels},{size // 4},{size},{alone},{exchange},{local},{link}\n")
PY
done
