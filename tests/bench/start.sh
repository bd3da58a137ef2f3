#!/usr/bin/env bash
# How long the binary takes to start and end, beside the smallest program there is.
#
#   start.sh [rounds]
set -euo pipefail

here=$(dirname "$0")
# As it is installed. What a linker writes piece by piece lies in the page cache in small pages, and starts 0.2 ms later.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dtrain=$folder/dtrain
install "${DTRAIN:-$here/../../build/release/dtrain}" "$dtrain"
printf '\n| what | program | median ms | quartiles | min | CPU ms | ratio |\n|---|---|---|---|---|---|---|\n'
python3 "$here/alternate.py" "${1:-201}" start 'true=/bin/true' "dtrain version=$dtrain version"
