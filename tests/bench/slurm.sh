#!/usr/bin/env bash
# Measures jobs in a Slurm cluster whose four nodes are network namespaces of this machine (tests/slurm/lib.sh): `true`
# on each node by srun, dtrain and Open MPI in one allocation, the output of all nodes through dtrain, and how long its
# processes outlive the batch script or the launcher. Runs as root, and prints Markdown tables.
#
#   slurm.sh [rounds] [MB a node]
set -euo pipefail
here=$(realpath "$(dirname "$0")")
rounds=${1:-21}
megabytes=${2:-500}
nodes=4
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=../cli/lib.sh
. "$here/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$here/../net/lib.sh"
# shellcheck source=../slurm/lib.sh
. "$here/../slurm/lib.sh"
out=$folder
skip() { echo "not measured: $*" && exit 0; }

time_of_true() {
  local launchers=()
  if command -v mpirun.openmpi >/dev/null; then
    launchers+=("'openmpi=timeout 30 mpirun.openmpi --allow-run-as-root -n $nodes true'")
  else
    echo 'Open MPI is not installed (apt-get install openmpi-bin): no comparison with it'
  fi
  launchers+=("'dtrain=$dtrain run true'" "'srun=srun -N$nodes -n$nodes true'")
  run_timeout_s=3600 run_batch -N$nodes -n$nodes <<<"exec python3 $here/alternate.py $rounds $nodes ${launchers[*]}"
  printf '\n| nodes | launcher | median ms | quartiles | min | CPU ms | ratio |\n|---|---|---|---|---|---|---|\n'
  cat stdout stderr
}

# The launcher is on the login node, so that the output of all nodes crosses connections of agents.
speed_of_output() {
  local lines=$folder/lines count
  yes 'epoch 3 step 01200/05000 loss 0.218437 accuracy 0.9312 lr 1.0e-03 tokens/s 48210.7' |
    head -c "$((megabytes * 1000000))" | sed '$d' >"$lines" || true
  count=$(wc -l <"$lines")
  cat >output.sh <<SCRIPT
begin=\${EPOCHREALTIME/./}
$dtrain run cat $lines 2>/dev/null | wc -l
echo \$((\${EPOCHREALTIME/./} - begin))
SCRIPT
  printf '\n| tagged output of %d nodes | seconds | MB/s |\n|---|---|---|\n' $nodes
  for _ in 1 2 3; do
    run_on_login salloc -Q -N$nodes -n$nodes bash "$folder/output.sh"
    # A line that pauses in its middle becomes two.
    [[ $(head -n 1 stdout) -ge $((nodes * count)) ]] || fail 'lines were lost'
    awk -v us="$(tail -n 1 stdout)" -v bytes="$((nodes * $(stat -c %s "$lines")))" -v megabytes="$megabytes" 'BEGIN {
      printf "| %d MB each | %.1f | %.0f |\n", megabytes, us / 1e6, bytes / us }'
  done
}

# The processes of dtrain's job have a marker of their own, which srun and the agents inherit.
sleepers="env TEST_MARKER=$$-job $dtrain run sh -c 'echo began; exec sleep 600'"
all_began() { [[ $(grep -c began stdout) -eq $nodes ]]; }
# shellcheck disable=SC2030  # the marker is this subshell's own
none_is_left() (
  TEST_MARKER=$$-job
  [[ -z $(marked_pids) ]]
)

# seconds_until_none_is_left NAME COMMAND…: runs it as soon as all ranks run, and prints the row of the table.
seconds_until_none_is_left() {
  local name=$1 begin
  shift
  wait_for all_began
  ! none_is_left || fail "the processes of dtrain's job are not found"
  begin=$(now_ms)
  "$@"
  wait_for none_is_left
  awk -v name="$name" -v ms="$(($(now_ms) - begin))" 'BEGIN { printf "| %s | %.2f |\n", name, ms / 1e3 }'
}

time_to_the_end() {
  local script="$sleepers & until test -e $folder/go; do sleep 0.01; done"
  printf '\n| event | seconds until no process is left |\n|---|---|\n'
  for _ in 1 2 3 4 5; do
    rm -f go
    start_batch -N$nodes -n$nodes <<<"$script"
    seconds_until_none_is_left 'the batch script ends' touch go
    finish_batch
  done
  for _ in 1 2 3 4 5; do
    rm -f go
    start_on_login salloc -Q -N$nodes -n$nodes bash -c "$script"
    seconds_until_none_is_left 'the launcher is killed, the allocation stays' kill_launcher
    touch go
    finish
  done
}
kill_launcher() { kill -KILL "$(processes_on l dtrain)"; }

# A subshell, since slurm_up traps its exit.
(
  cd "$folder"
  # shellcheck disable=SC2031
  export TEST_MARKER=$$-bench
  slurm_up $nodes
  # In a new cluster, the first step may hold its nodes for a minute after its end.
  run_timeout_s=300 run_batch -N$nodes -n$nodes <<<"srun -N$nodes -n$nodes true"
  time_of_true
  speed_of_output
  time_to_the_end
)
