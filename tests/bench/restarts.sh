#!/usr/bin/env bash
# Compares the restart of a job by dtrain and by torchrun: from the SIGKILL of one of np ranks on this machine
# until all ranks of the next generation have started. The launchers alternate; prints a Markdown table.
#
#   restarts.sh [rounds] [np]    torchrun is that of build/venv-torch (tools/setup.sh frameworks)
set -euo pipefail

here=$(realpath "$(dirname "$0")")
# shellcheck source=lib.sh
. "$here/lib.sh"
rounds=${1:-11}
np=${2:-8}
export OMP_NUM_THREADS=1
torchrun=$here/../../build/venv-torch/bin/torchrun
if [[ ! -e $torchrun ]]; then
  echo 'PyTorch of PyPI is not installed (tools/setup.sh frameworks): no comparison with torchrun'
  exit
fi

# Each rank writes the time of its start. Once all have started, rank 1 of the first generation notes the time, and
# dies; the others run until their launcher ends them.
cat >"$folder/rank.sh" <<'END'
started=started.$TORCHELASTIC_RESTART_COUNT
echo "$EPOCHREALTIME" >"$started.$RANK.part" && mv "$started.$RANK.part" "$started.$RANK"
[[ $TORCHELASTIC_RESTART_COUNT == 0 ]] || exit 0
[[ $RANK == 1 ]] || exec sleep 60
until all=("$started".?*) && ((${#all[@]} == WORLD_SIZE)) && [[ ${all[*]} != *part* ]]; do sleep 0.05; done
echo "$EPOCHREALTIME" >killed
kill -KILL $$
END

# measure LAUNCHER COMMAND…: adds a time in ms to those of LAUNCHER.
measure() {
  local launcher=$1
  shift
  rm -rf "$folder/run" && mkdir "$folder/run"
  (cd "$folder/run" && "$@" bash "$folder/rank.sh" >out 2>&1 && [[ $(cat started.1.? | wc -l) -eq $np ]]) ||
    { cat "$folder/run/out" >&2 && exit 1; }
  cat "$folder/run/killed" "$folder/run"/started.1.? | awk 'NR == 1 { killed = $1 } $1 > last { last = $1 }
    END { printf "%.2f\n", (last - killed) * 1000 }' >>"$folder/times/$launcher"
}

mkdir "$folder/times"
for ((round = 0; round < rounds; ++round)); do
  measure dtrain "$dtrain" run -np "$np" --max-restarts 1
  measure torchrun "$torchrun" --nproc-per-node "$np" --max-restarts 1 --no-python
  measure 'torchrun --monitor-interval 0.01' "$torchrun" --nproc-per-node "$np" --max-restarts 1 --monitor-interval 0.01 --no-python
done

printf '| launcher | median ms | quartiles | min | max |\n|---|---|---|---|---|\n'
for launcher in torchrun 'torchrun --monitor-interval 0.01' dtrain; do
  sort -n "$folder/times/$launcher" | awk -v launcher="$launcher" '{ ms[NR] = $1 }
    function at(part) { return ms[int(1 + part * (NR - 1) + 0.5)] }
    END { printf "| %s | %.1f | %.1f - %.1f | %.1f | %.1f |\n", launcher, at(0.5), at(0.25), at(0.75), ms[1], ms[NR] }'
done
