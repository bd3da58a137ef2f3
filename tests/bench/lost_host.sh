#!/usr/bin/env bash
# Measures restarts of a job of eight ranks on four hosts with one spare (network namespaces of this machine, each with
# an sshd): from the SIGKILL of a rank, the SIGKILL of an agent, or the cut of a host's cable, until all ranks of the
# next generation have started. Runs as root, and prints a Markdown table.
#
#   lost_host.sh [rounds]
set -euo pipefail
here=$(realpath "$(dirname "$0")")
rounds=${1:-9}
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=../cli/lib.sh
. "$here/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$here/../net/lib.sh"
out=$folder
skip() { echo "not measured: $*" && exit 0; }

# Each rank writes the time of its start. The second generation ends at once.
cat >"$folder/rank.sh" <<'END'
echo "$EPOCHREALTIME" >"$0.part.$RANK" && mv "$0.part.$RANK" "$(dirname "$0")/times/$DTRAIN_GENERATION.$RANK"
[[ $DTRAIN_GENERATION == 1 ]] || exit 0
exec sleep 600
END
all_started() { [[ $(find "$folder/times" -name "$1.*" | wc -l) -eq 8 ]]; }
kill_rank() { kill -KILL "$(processes_on 2 sleep | head -n 1)"; }
kill_agent() { kill -KILL "$(agent_on 2)"; }

# measure NAME COMMAND…: COMMAND is the fault. Adds the ms from it to the last start to those of NAME.
measure() {
  local name=$1 began
  shift
  rm -rf "$folder/times" && mkdir "$folder/times"
  start_on_launcher "$dtrain" run --max-restarts 1 -H node1:2,node2:2,node3:2,node4:2 --spare node5:2 bash "$folder/rank.sh"
  wait_for all_started 1
  began=$EPOCHREALTIME
  "$@"
  wait_for all_started 2
  finish
  [[ $status -eq 0 ]] || fail "status $status"
  mend_cable 2
  cat "$folder/times"/2.* | awk -v began="$began" '$1 > last { last = $1 }
    END { printf "%.1f\n", (last - began) * 1000 }' >>"$folder/ms/$name"
}

# A subshell, since hosts_up traps its exit.
(
  cd "$folder"
  mkdir ms
  # shellcheck disable=SC2031
  export TEST_MARKER=$$-bench
  hosts_up 5
  for ((round = 0; round < rounds; ++round)); do
    measure 'a rank is killed' kill_rank
    measure 'an agent is killed' kill_agent
    measure 'a cable is cut' cut_cable 2
  done
  printf '| fault | median ms | quartiles | min | max |\n|---|---|---|---|---|\n'
  for name in 'a rank is killed' 'an agent is killed' 'a cable is cut'; do
    sort -n "ms/$name" | awk -v name="$name" '{ ms[NR] = $1 }
      function at(part) { return ms[int(1 + part * (NR - 1) + 0.5)] }
      END { printf "| %s | %.1f | %.1f - %.1f | %.1f | %.1f |\n", name, at(0.5), at(0.25), at(0.75), ms[1], ms[NR] }'
  done
)
