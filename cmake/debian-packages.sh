#!/usr/bin/env bash
# Installs what Tessera needs on Debian 12 or later: packages of the distribution, nothing else.
# Usage: debian-packages.sh [--python | --package | --tests | --libraries]
#   --python    also what `import tessera` needs
#   --package   also what makes Debian packages
#   --tests     also what the tests need, those of Python included
#   --libraries only prints the names of the libraries, those of the tests included
set -euo pipefail

# Debian 13 renamed a package, and has no clang-format 14: there the layout is not checked.
release=$(. /etc/os-release; echo "${VERSION_ID:-testing}")
if [[ $release == 12 ]]; then
  tcmalloc=libtcmalloc-minimal4
  layout=(clang-format-14)
else
  tcmalloc=libtcmalloc-minimal4t64
  layout=()
fi

libraries=(
  libtorch-dev libopenblas0-openmp libgloo-dev libdnnl-dev "$tcmalloc"
  libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libpcre2-dev libxxhash-dev
  libsqlite3-dev libssl-dev libboost-dev libcurl4-openssl-dev libxml2-dev
)
test_libraries=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev)
if [[ "${1:-}" == --libraries ]]; then
  printf '%s\n' "${libraries[@]}" "${test_libraries[@]}"
  exit 0
fi
packages=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates "${libraries[@]}"
  bible-kjv bible-kjv-text
)
if [[ "${1:-}" == --python || "${1:-}" == --tests ]]; then
  packages+=(python3-dev pybind11-dev python3-torch)
fi
if [[ "${1:-}" == --tests ]]; then
  packages+=("${test_libraries[@]}" "${layout[@]}" chromium librsvg2-bin curl man-db zsh fish
             python3-pytest mypy)
  # Those of another source will do, and exclude Debian's.
  command -v node >/dev/null || packages+=(nodejs)
  command -v npm >/dev/null || packages+=(npm)
fi
if [[ "${1:-}" == --package ]]; then
  packages+=(dpkg-dev file)
fi

missing=()
for package in "${packages[@]}"; do
  if ! dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed; then
    missing+=("$package")
  fi
done
if ((${#missing[@]} == 0)); then
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
sudo=()
if ((EUID != 0)); then
  sudo=(sudo DEBIAN_FRONTEND="$DEBIAN_FRONTEND")  # which sudo drops from the environment
fi
echo "Installing: ${missing[*]}"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
