#!/usr/bin/env bash
# Debian's slowhttptest in its four modes against a server, while others ask for /health every 100 ms.
#   bench/program/serve/slowhttptest.sh build/release/tessera [SECONDS OF EACH] [CONNECTIONS]
# Prints a line for each mode; ends with 1 where the service was not available at some time.
set -euo pipefail
program=$(realpath "$1") seconds=${2:-25} connections=${3:-1000}
for needed in slowhttptest curl; do
  command -v "$needed" >/dev/null || { echo "needs $needed (a package of Debian)" >&2; exit 2; }
done

place=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill -9 "$server" || true; fi; rm -rf "$place"' EXIT
printf 'Once upon a midnight dreary, while I pondered, weak and weary.\n%.0s' {1..200} >"$place/poem.txt"
"$program" memo create "$place/poems" --tokenizer byte --dimension 1024 >"$place/log"
"$program" memo memorize "$place/poems" "$place/poem.txt" >>"$place/log" 2>&1
"$program" serve --store "$place/poems" --port 0 >"$place/out" 2>"$place/err" &
server=$!
until grep -q '^Serving at' "$place/out"; do kill -0 "$server"; sleep 0.1; done
origin=$(sed -n 's/^Serving at //p' "$place/out")

# Status and seconds of /health, one answer a line, until the file named is gone.
probe() {
  while [ -e "$1" ]; do
    curl -so /dev/null --max-time 5 -w '%{http_code} %{time_total}\n' "$origin/health" || true
    sleep 0.1
  done
}

failed=0
mode() {  # NAME ARGUMENTS...
  local name=$1 status=0
  shift
  touch "$place/running"
  probe "$place/running" >"$place/probes" &
  local probes=$!
  slowhttptest -c "$connections" -r 200 -l "$seconds" -p 3 "$@" >"$place/printed" 2>&1 || status=$?
  rm "$place/running"
  wait "$probes"
  sed -i 's/\x1b\[[0-9;]*[A-Za-z]//g' "$place/printed"
  local verdict=available
  if [ "$status" -ne 0 ] || grep -q 'service available: *NO' "$place/printed" || grep -qv '^200 ' "$place/probes" ||
    ! kill -0 "$server"; then
    verdict='NOT AVAILABLE' failed=1
  fi
  local slowest
  slowest=$(awk '$2 > most {most = $2} END {printf "%d answers, the slowest after %.3f s", NR, most}' "$place/probes")
  echo "$name: $verdict; $(sed -n 's/^Exit status: *//p' "$place/printed") (status $status); /health: $slowest"
}

mode 'slow heads (-H)' -H -i 5 -x 24 -u "$origin/"
mode 'slow bodies (-B)' -B -i 5 -s 8192 -x 10 -f application/json -u "$origin/v1/completions"
mode 'slow reading (-X)' -X -w 256 -y 1024 -n 2 -z 32 -k 5 -u "$origin/"
mode 'overlapping ranges (-R)' -R -a 1 -b 3000 -u "$origin/"
exit "$failed"
