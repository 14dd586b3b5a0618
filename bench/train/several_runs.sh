# What several.sh, several_stm.sh and hosts.sh share: trainings of one or two processes. They set `program` and,
# for the Memory Mosaic of 4 blocks that training() describes, `channels`, `window` and `batch` before each run;
# several_stm.sh has a training() of its own.
work=$(mktemp -d)
clean_up() { rm -rf "$work"; }
trap clean_up EXIT
# What a measurement, which runs in a subshell, has in the background ends with it, also by Ctrl-C.
pids=()
end_processes() { [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true; }
unset OPENBLAS_CORETYPE
export OMP_NUM_THREADS=1

for i in $(seq 30000); do
  echo "In year $((i * 7919 % 1000)) the ${i}th king counted $((i * i % 997)) sheep and $((i % 13)) dogs."
done > "$work/text.txt"

# RUN STEPS: the command of one process.
training() {
  cat > "$work/$1.toml" <<TOML
[data]
text = "$work/text.txt"
tokenizer = "bpe"
vocabulary = 2048
[model]
layers = 4
heads = 4
channels = $channels
window = $window
[train]
steps = $2
batch = $batch
accumulation = ${accumulation:-2}
warmup_steps = 2
evaluate_every = 0
evaluate_batches = 1
checkpoint_every = 0
sample_every = 0
[sample]
tokens = 0
TOML
  command=("$program" --threads 1 train "$work/$1.toml" --out "$work/$1")
}

# RUN: the median of tokens_per_second over the steps after the fifth.
median_speed() {
  python3 - "$work/$1/metrics.jsonl" <<'PY'
import json, statistics, sys
steps = [json.loads(line) for line in open(sys.argv[1])]
speeds = [step["tokens_per_second"] for step in steps if step["kind"] == "step"]
print(round(statistics.median(speeds[5:] or speeds), 1))
PY
}

speed_of_one() {
  training "$1" "$2"
  "${command[@]}" > "$work/out" 2> "$work/err" || { cat "$work/err" >&2; return 1; }
  median_speed "$1"
}

# RUN STEPS [PREFIX0 PREFIX1 ADDRESS]: two processes; a prefix is what a command is run by.
speed_of_two() {
  local prefix0=${3:-} prefix1=${4:-} address=${5:-127.0.0.1} port=$((20000 + RANDOM % 10000))
  training "$1" "$2"
  trap end_processes EXIT
  export WORLD_SIZE=2 MASTER_ADDR=$address MASTER_PORT=$port TESSERA_PROCESS_SECONDS=120
  RANK=1 $prefix1 "${command[@]}" > "$work/out1" 2> "$work/err1" &
  pids=($!)
  RANK=0 $prefix0 "${command[@]}" > "$work/out0" 2> "$work/err0" ||
    { cat "$work/err0" "$work/err1" >&2; return 1; }
  wait "${pids[0]}"
  pids=()
  median_speed "$1"
}

# RUN STEPS: two trainings at once that have nothing to do with each other, each with the work of one of
# two processes; the sum of their speeds.
speed_apart() {
  trap end_processes EXIT
  accumulation=1 training "$1-1" "$2"
  "${command[@]}" > "$work/out1" 2> "$work/err1" &
  pids=($!)
  accumulation=1 training "$1-0" "$2"
  "${command[@]}" > "$work/out0" 2> "$work/err0" || { cat "$work/err0" >&2; return 1; }
  wait "${pids[0]}"
  pids=()
  python3 -c "print(round($(median_speed "$1-0") + $(median_speed "$1-1"), 1))"
}

ratio() { python3 -c "print(round($1 / $2, 3))"; }
