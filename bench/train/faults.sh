#!/usr/bin/env bash
# Random faults in a training of two processes. Each time a small training starts, and at a random
# step one of its processes is killed, stopped, or cut off from the other (two network namespaces,
# whose link goes down); or it is killed under torchrun. Then
# - the other process must end with status 1 and one line that names the lost one, within the time
#   limit and the ten seconds that it may take to find out which one is lost;
# - the same command with --resume (torchrun: without any) must end with the model of a training
#   without faults, bit for bit.
# Prints one line for each fault and a summary; status 1 where a check failed.
#
#   bench/train/faults.sh [PROGRAM] [FAULTS] [SEED]     (build/release/tessera, 50, 1)
#
# Needs root for the namespaces, and torchrun (-r and -t: Debian's 1.13 fails without them); kinds of
# faults that the machine has no means for are left out and named.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "${1:-$root/build/release/tessera}") faults=${2:-50}
RANDOM=${3:-1}
limit=4 slack=10 steps=60
work=$(mktemp -d)
unset OPENBLAS_CORETYPE
export OMP_NUM_THREADS=1 TESSERA_PROCESS_SECONDS=$limit WORLD_SIZE=2
pids=()
finish() {
  [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
  ip netns del tessera0 2>/dev/null
  ip netns del tessera1 2>/dev/null
  rm -rf "$work"
}
trap finish EXIT

for i in $(seq 2000); do
  echo "In year $((i * 7919 % 1000)) the ${i}th king counted $((i * i % 997)) sheep and $((i % 13)) dogs."
done > "$work/text.txt"
cat > "$work/train.toml" <<TOML
[data]
text = "$work/text.txt"
tokenizer = "byte"
[model]
layers = 2
heads = 2
channels = 64
window = 64
[train]
steps = $steps
batch = 4
accumulation = 2
warmup_steps = 5
evaluate_every = 20
evaluate_batches = 2
checkpoint_every = 5
share_optimizer = true
[sample]
tokens = 0
TOML

kinds=(kill stop)
if ip netns add tessera0 2>/dev/null && ip netns add tessera1 &&
  ip link add link0 netns tessera0 type veth peer name link1 netns tessera1; then
  for r in 0 1; do
    ip -n tessera$r addr add 10.77.0.$((r + 1))/24 dev link$r
    ip -n tessera$r link set link$r up
    ip -n tessera$r link set lo up
  done
  kinds+=(cut)
else
  echo "without 'cut': no network namespaces here"
fi
if command -v torchrun > /dev/null; then kinds+=(torchrun); else echo "without 'torchrun'"; fi

# RANK ADDRESS PORT RUN [OPTION]: starts one process; in a namespace where ADDRESS is no loopback.
start() {
  local inside=()
  [ "$2" = 127.0.0.1 ] || inside=(ip netns exec "tessera$1")
  RANK=$1 MASTER_ADDR=$2 MASTER_PORT=$3 "${inside[@]}" "$program" --threads 1 train \
    "$work/train.toml" --out "$work/$4" ${5:-} > "$work/out$1" 2> "$work/err$1" &
  pids[$1]=$!
}
both() {
  start 1 "$@"
  start 0 "$@"
}
lines() { wc -l < "$work/$1/metrics.jsonl" 2>/dev/null || echo 0; }
# Waits until the run has made so many steps.
wait_for_step() {
  for _ in $(seq 3000); do
    [ "$(lines "$1")" -ge "$2" ] && return
    kill -0 "${pids[0]}" || break
    sleep 0.02
  done
  echo "  the training did not get to step $2" && return 1
}
model() { sha256sum < "$work/$1/model/model.safetensors"; }
now() { date +%s%N; }

# RANK: the process must end with one line that names the other one. Prints the seconds it took.
ended_well() {
  local began=$2 status other=$((1 - $1))
  while kill -0 "${pids[$1]}" 2>/dev/null; do
    if [ $((($(now) - began) / 1000000000)) -gt $((limit + slack)) ]; then
      echo "  process $1 still runs" && return 1
    fi
    sleep 0.02
  done
  took=$((($(now) - began) / 1000000))
  wait "${pids[$1]}"
  status=$?
  [ $status -eq 1 ] || { echo "  process $1 ended with status $status" && return 1; }
  [ "$(grep -c '^tessera: ' "$work/err$1")" -eq 1 ] &&
    grep -q "^tessera: process $1 of 2 has lost process $other: " "$work/err$1" ||
    { echo "  process $1 said:" && tail -n 3 "$work/err$1" && return 1; }
}

# KIND RANK STEP RUN: the fault and what follows.
fault() {
  local kind=$1 rank=$2 step=$3 run=$4 port=$((20000 + RANDOM % 10000)) address=127.0.0.1 began
  took=0
  if [ "$kind" = torchrun ]; then
    torchrun -r 1 -t 2 --nproc_per_node 2 --max_restarts 1 --master_port $port --no_python "$program" \
      --threads 1 train "$work/train.toml" --out "$work/$run" > "$work/out0" 2> "$work/err0" &
    pids=($!)
    wait_for_step "$run" "$step" || return 1
    kill -KILL "$(pgrep -P "${pids[0]}" | sed -n $((rank + 1))p)"
    wait "${pids[0]}" || { echo "  torchrun failed" && tail -n 5 "$work/err0" && return 1; }
    return
  fi
  [ "$kind" = cut ] && address=10.77.0.1
  both $address $port "$run"
  wait_for_step "$run" "$step" || return 1
  began=$(now)
  case $kind in
    kill) kill -KILL "${pids[$rank]}" && wait "${pids[$rank]}" 2>/dev/null ;;
    stop) kill -STOP "${pids[$rank]}" ;;
    cut) ip -n tessera$rank link set link$rank down ;;
  esac
  ended_well $((1 - rank)) "$began" || return 1
  if [ "$kind" = cut ]; then
    ended_well "$rank" "$began" || return 1
  fi
  [ "$kind" = stop ] && kill -KILL "${pids[$rank]}" && wait "${pids[$rank]}" 2>/dev/null
  both 127.0.0.1 $((port + 1)) "$run" --resume
  wait "${pids[0]}" && wait "${pids[1]}" ||
    { echo "  --resume failed" && tail -n 3 "$work"/err? && return 1; }
}

both 127.0.0.1 $((20000 + RANDOM % 10000)) whole
wait "${pids[0]}" || { cat "$work/err0" && exit 1; }
wait "${pids[1]}"
whole=$(model whole)
failed=0
for number in $(seq "$faults"); do
  kind=${kinds[$((RANDOM % ${#kinds[@]}))]} rank=$((RANDOM % 2)) step=$((1 + RANDOM % (steps - 15)))
  good=no
  if fault "$kind" $rank $step "run$number" 2>/dev/null; then
    if [ "$(model "run$number")" = "$whole" ]; then good=yes; else echo "  another model"; fi
  fi
  [ $good = yes ] || failed=$((failed + 1))
  ending="; the other ended after $took ms"
  [ "$kind" != torchrun ] || ending="; restarted by torchrun"
  echo "fault $number: $kind, process $rank, step $step$ending; good: $good"
  [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
  pids=()
  [ "$kind" != cut ] || ip -n tessera$rank link set link$rank up
  rm -rf "$work/run$number"
done
echo "$faults faults, $failed of them with a wrong end"
[ $failed -eq 0 ]
