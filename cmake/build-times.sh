#!/usr/bin/env bash
# Where the time of a build went: seconds per room, then the slowest objects, from Ninja's log.
# Usage: build-times.sh [BUILD_FOLDER] [OBJECTS]       for example after
#   rm -rf build/release && cmake --preset release && CCACHE_DISABLE=1 ninja -C build/release -j2
# With no more jobs than cores, the seconds are about CPU seconds.
set -euo pipefail
log=${1:-build/release}/.ninja_log

# start end mtime output hash -> seconds output, the last line of an output counts
seconds() {
  awk -F'\t' '!/^#/ { seconds[$4] = ($2 - $1) / 1000 }
              END { for (output in seconds) printf "%.1f\t%s\n", seconds[output], output }' "$log"
}

# libroom_ops.a and other links count as such; a room's objects lie in CMakeFiles/<target>.dir/<room>
room_of='
  function room(output,  parts, n) {
    if (output ~ /\.gch$/) return "precompiled headers"
    if (output !~ /\.o$/) return "links"
    sub(/.*CMakeFiles\//, "", output)
    n = split(output, parts, "/")
    if (parts[1] ~ /^test_/) return "tests"
    if (parts[1] ~ /^tessera_bench/) return "benchmarks"
    if (parts[2] == "__") return "precompiled headers"
    if (parts[2] == "Unity") {  # room_<room>_<set>.dir
      split(parts[1], parts, "_")
      return parts[2]
    }
    return n > 2 ? parts[2] : parts[1]
  }'

seconds | awk -F'\t' "$room_of"'
  { sum[room($2)] += $1; total += $1 }
  END { for (name in sum) printf "%8.1f s  %s\n", sum[name], name; printf "%8.1f s  in all\n", total }
' | sort -rn
echo
seconds | sort -rn | head -n "${2:-15}" | awk -F'\t' '{ sub(/.*CMakeFiles\//, "", $2); printf "%8.1f s  %s\n", $1, $2 }'
