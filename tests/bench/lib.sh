# shellcheck shell=bash
# Sourced by benchmarks of the binary, which set $here to this folder. Sets $dtrain to a copy of the binary,
# and $folder to the copy's folder, which is removed at the end. A copy is like an installed binary: the
# linker's own file lies in the page cache in small pages, and starts 0.2 ms later.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dtrain=$folder/dtrain
install "${DTRAIN:-$here/../../build/release/dtrain}" "$dtrain"
