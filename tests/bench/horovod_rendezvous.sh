#!/usr/bin/env bash
# Measures how long the ranks of a Horovod job take to find each other: at dtrain's rendezvous and, in turn, at
# that of horovodrun (of the package that tools/setup.sh frameworks installs). Prints a Markdown table.
#
#   horovod_rendezvous.sh [rounds] [ranks…]
set -euo pipefail

here=$(dirname "$0")
build=$here/../../build
dtrain=${DTRAIN:-$build/release/dtrain}
load=$build/release/tests/bench/horovod_load
python=$build/venv-horovod-torch/bin/python
rounds=${1:-3}
if (($# > 0)); then shift; fi
counts=("$@")
if (($# == 0)); then counts=(8 32); fi

if [[ ! -x $python ]]; then
  echo 'Horovod is not installed (tools/setup.sh frameworks): no comparison with horovodrun'
fi

# Prints the median of a file's lines, then the least and the greatest.
summary() { sort -n "$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)], all[1], all[NR] }'; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '\n| ranks | served by | median ms | least - most | ratio |\n|---|---|---|---|---|\n'
for ranks in "${counts[@]}"; do
  for ((round = 0; round < rounds; ++round)); do
    "$dtrain" run -np 1 --no-tag "$load" "$ranks" >>"$folder/dtrain.$ranks"
    if [[ -x $python ]]; then
      "$python" "$here/horovod_server.py" "$ranks" "$load" "$ranks" >>"$folder/horovodrun.$ranks"
    fi
  done
  read -r ours least most < <(summary "$folder/dtrain.$ranks")
  if [[ -x $python ]]; then
    read -r theirs their_least their_most < <(summary "$folder/horovodrun.$ranks")
    echo "| $ranks | horovodrun | $theirs | $their_least - $their_most | 1.00 |"
    ratio=$(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.3f", a / b }')
  fi
  echo "| $ranks | dtrain | $ours | $least - $most | ${ratio--} |"
done
