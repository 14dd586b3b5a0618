#!/bin/bash
# What it costs to fill a store alone or in four parts, one after another, each with one thread, and to merge the parts:
# CPU seconds, largest memory, and the bytes of a part, which are what a host sends.
#   bench/store/shards.sh STORIES MATRICES DIMENSION
# Needs GNU time and build/release/tessera; TMPDIR needs room for eight stores.
set -eu
[ $# = 3 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
tessera=$(realpath "$(dirname "$0")/../../build/release/tessera")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"

measured() {  # WHAT COMMAND…
  local what=$1 user system kilobytes
  shift
  /usr/bin/time -o time -f '%U %S %M' "$@" >out 2>err || { cat err >&2; exit 1; }
  read -r user system kilobytes <time
  awk -v what="$what" -v user="$user" -v system_="$system" -v memory="$kilobytes" \
    'BEGIN { printf "%-24s %7.1f s %9.1f MB of memory\n", what, user + system_, memory * 1.024e-3 }'
}

quietly() { "$@" >out 2>err || { cat err >&2; exit 1; }; }
quietly "$tessera" data stories --stories "$1" --valid 1 --questions 1 --out stories
mkdir texts
split -n l/64 --additional-suffix .txt stories/train.txt texts/
quietly "$tessera" tokenizer train texts/*.txt --out tokenizer.json
measured create "$tessera" memo create part-1 --tokenizer tokenizer.json --matrices "$2" --dimension "$3"
for part in 2 3 4 all; do cp -r part-1 part-$part; done
measured 'memorize all' "$tessera" --threads 1 memo memorize part-all texts
for part in 1 2 3 4; do
  measured "memorize $part/4" "$tessera" --threads 1 memo memorize part-$part texts --shard $part/4
done
measured 'merge 1 and 2' "$tessera" --threads 1 memo merge half-1 part-1 part-2
measured 'merge 3 and 4' "$tessera" --threads 1 memo merge half-2 part-3 part-4
measured 'merge the two' "$tessera" --threads 1 memo merge whole half-1 half-2
cat out
cmp <("$tessera" memo stat part-all | grep digest) <("$tessera" memo stat whole | grep digest)
du -s --block-size=1 part-1 whole | awk '{ printf "%-24s %9.1f MB\n", $2, $1 / 1e6 }'
