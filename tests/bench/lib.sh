# shellcheck shell=bash
# Sourced by benchmarks of the binary, which set $here to this folder: sets $dtrain to a copy of it, as it
# is installed, and $folder to the folder of that, which goes at the end. What a linker writes piece by
# piece lies in the page cache in small pages, and starts 0.2 ms later.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dtrain=$folder/dtrain
install "${DTRAIN:-$here/../../build/release/dtrain}" "$dtrain"
