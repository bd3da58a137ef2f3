#!/usr/bin/env bash
# Measures the time of a local job of `true`, beside MPICH's hydra and Open MPI where they are installed, and
# the memory of launcher and agent. Runs whole commands in alternation; prints a Markdown table.
#
#   launch.sh [rounds] [np…]
set -euo pipefail

here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"
rounds=${1:-21}
if (($# > 0)); then shift; fi
counts=("$@")
if (($# == 0)); then counts=(1 8 64 128); fi

# The ratios of the table are to the first launcher.
launchers=()
if command -v mpiexec.hydra >/dev/null; then
  launchers+=('hydra=mpiexec.hydra -n %d true')
else
  echo 'MPICH is not installed (apt-get install mpich): no comparison with hydra'
fi
launchers+=("dtrain=$dtrain run -np %d true")
if command -v mpirun.openmpi >/dev/null; then
  launchers+=('openmpi=timeout 20 mpirun.openmpi --allow-run-as-root --oversubscribe -n %d true')
else
  echo 'Open MPI is not installed (apt-get install openmpi-bin): no comparison with it'
fi

peak_kb() { awk '$1 == "VmHWM:" { print $2 }' "/proc/$1/status"; }

# Prints the peak memory of launcher and agent once all tasks run.
print_memory() {
  local np=$1 launcher agent
  "$dtrain" run -np "$np" sleep 600 &
  launcher=$!
  until agent=$(pgrep -P "$launcher" -x dtrain-agent) && (($(pgrep -c -P "$agent" -x sleep) == np)); do
    sleep 0.1
  done
  awk -v np="$np" -v launcher="$(peak_kb "$launcher")" -v agent="$(peak_kb "$agent")" 'BEGIN {
    printf "Memory at np %d: launcher %.1f MB, agent %.1f MB, together %.1f MB\n", np, launcher / 1024,
      agent / 1024, (launcher + agent) / 1024 }'
  kill "$launcher"
  wait "$launcher" 2>/dev/null || true
}

printf '\n| np | launcher | median ms | quartiles | min | CPU ms | ratio |\n|---|---|---|---|---|---|---|\n'
for np in "${counts[@]}"; do
  python3 "$here/alternate.py" "$rounds" "$np" "${launchers[@]//%d/$np}"
done
echo
print_memory "${counts[-1]}" 2>/dev/null
