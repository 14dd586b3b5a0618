#!/usr/bin/env bash
# Makes FOLDER hold an empty library for each one that LIBTORCH names, uses nothing of, and that nothing else loads
# which USER loads. Found first, they spare a program the real ones: with Debian 12's LibTorch OpenCV, FFmpeg and what
# these load, 248 of 284 libraries and a third of the time to start.
# Usage: stand-ins.sh LIBTORCH USER FOLDER COMPILER
set -euo pipefail
libtorch=$1 user=$2 folder=$3 compiler=$4
rm -rf "$folder"  # so that the real ones are looked at

named_by() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
loaded_by() { ldd "$1" | awk '$2 == "=>" { print $1 }'; }
symbols() { nm -D "$2" "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u; }

wanted=$(mktemp) loaded=$(mktemp)
trap 'rm -f "$wanted" "$loaded"' EXIT
symbols "$libtorch" --undefined-only > "$wanted"
declare -A path_of
while read -r name _ path _; do path_of[$name]=$path; done < <(ldd "$user" | grep '=>')
unused=()
for name in $(named_by "$libtorch"); do
  path=${path_of[$name]:-}
  [[ -n $path ]] || continue
  if [[ -z $(symbols "$path" --defined-only | comm -12 - "$wanted") ]]; then
    unused+=("$name")
  else
    loaded_by "$path" >> "$loaded"
  fi
done
for name in $(named_by "$user"); do
  [[ $name == libtorch* || -z ${path_of[$name]:-} ]] ||
    { echo "$name"; loaded_by "${path_of[$name]}"; } >> "$loaded"
done

mkdir "$folder"
for name in "${unused[@]}"; do
  grep -qxF "$name" "$loaded" || "$compiler" -shared -s -nostdlib -x c /dev/null -Wl,-soname,"$name" -o "$folder/$name"
done
