#!/usr/bin/env bash
# How long a local job of `true` takes, beside MPICH's hydra and Open MPI where they are installed: whole
# commands in alternation, so that a machine whose speed drifts is fair to all. Prints medians in ms with
# the range, and each one's ratio to hydra.
#
#   launch.sh [rounds] [np…]
set -euo pipefail

dtrain=${DTRAIN:-$(dirname "$0")/../../build/release/dtrain}
rounds=${1:-15}
if (($# > 0)); then shift; fi
counts=("${@:-1}")
if (($# == 0)); then counts=(1 8 64 128); fi

declare -A commands=([dtrain]="$dtrain run -np %d true")
if command -v mpiexec.hydra >/dev/null; then commands[hydra]='mpiexec.hydra -n %d true'; fi
if command -v mpirun.openmpi >/dev/null; then
  commands[openmpi]='timeout 20 mpirun.openmpi --allow-run-as-root --oversubscribe -n %d true'
fi

times=$(mktemp)
trap 'rm -f "$times"' EXIT
for np in "${counts[@]}"; do
  for ((round = 0; round <= rounds; round++)); do
    for name in "${!commands[@]}"; do
      # shellcheck disable=SC2059  # the format is the command
      command=$(printf "${commands[$name]}" "$np")
      begin=${EPOCHREALTIME/./}
      $command >/dev/null 2>&1 || continue
      # The first round warms the caches.
      if ((round > 0)); then echo "$np $name $((${EPOCHREALTIME/./} - begin))" >>"$times"; fi
    done
  done
done

printf '%4s %-8s %9s %9s %9s %9s\n' np launcher median min max /hydra
for np in "${counts[@]}"; do
  hydra=
  for name in hydra dtrain openmpi; do
    row=$(awk -v np="$np" -v name="$name" '$1 == np && $2 == name { print $3 }' "$times" | sort -n)
    [[ -n $row ]] || continue
    count=$(wc -l <<<"$row")
    median=$(sed -n "$(((count + 1) / 2))p" <<<"$row")
    if [[ $name == hydra ]]; then hydra=$median; fi
    awk -v np="$np" -v name="$name" -v med="$median" -v min="$(head -n 1 <<<"$row")" -v max="$(tail -n 1 <<<"$row")" \
      -v hydra="${hydra:-0}" 'BEGIN { printf "%4d %-8s %9.2f %9.2f %9.2f %9s\n", np, name, med / 1000, min / 1000,
        max / 1000, (hydra > 0 ? sprintf("%.2f", med / hydra) : "-") }'
  done
done
