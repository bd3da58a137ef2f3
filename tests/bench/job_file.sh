#!/usr/bin/env bash
# Measures what a job file costs: dtrain job run beside the same dtrain run, list and status of 30 jobs, exports, and
# 5,000,000 lines of output into the job's folder beside --output-dir. The commands of a pair alternate; prints a
# Markdown table of medians and quartiles in ms.
#
#   job_file.sh [rounds]
set -euo pipefail

here=$(realpath "$(dirname "$0")")
# shellcheck source=lib.sh
. "$here/lib.sh"
rounds=${1:-15}
export HOME=$folder/home XDG_STATE_HOME=$folder/state
unset XDG_CONFIG_HOME
mkdir "$folder/home" "$folder/times" "$folder/code"
cd "$folder"
printf '%s\n' 'schema = 1' 'np = 4' 'command = ["true"]' >true.toml
printf '%s\n' 'schema = 1' 'np = 4' 'image = "debian"' 'command = ["true"]' >image.toml
printf '%s\n' 'schema = 1' 'image = "debian"' 'nnodes = "64"' 'command = ["true"]' '[code]' 'path = "code"' >pods.toml
printf '%s\n' 'schema = 1' 'image = "debian"' 'command = ["true"]' '[roles.ps]' 'replicas = 64' '[roles.worker]' \
  'replicas = 192' >roles.toml
head -c 90000 "$here/job_file.sh" >code/train.py
printf '%s\n' 'schema = 1' 'np = 1' 'quiet = true' 'command = ["seq", "5000000"]' >lines.toml

# measure NAME COMMAND…: adds a time in ms to those of NAME.
measure() {
  local name=$1 begin end
  shift
  begin=$EPOCHREALTIME
  "$@" >out 2>&1 || { cat out >&2 && exit 1; }
  end=$EPOCHREALTIME
  awk -v begin="$begin" -v end="$end" 'BEGIN { printf "%.2f\n", (end - begin) * 1000 }' >>"times/$name"
}

for ((round = 0; round < rounds; ++round)); do
  measure 'dtrain run' "$dtrain" run -np 4 true
  measure 'dtrain job run' "$dtrain" job run true.toml
  rm -rf logs state/dtrain/jobs/lines-*
  measure '5,000,000 lines, --output-dir' "$dtrain" run -np 1 --quiet --output-dir logs seq 5000000
  measure '5,000,000 lines, job run' "$dtrain" job run lines.toml
done
while (($(find state/dtrain/jobs -mindepth 1 -maxdepth 1 | wc -l) < 30)); do "$dtrain" job run true.toml; done
for ((round = 0; round < rounds; ++round)); do
  measure 'dtrain job list (30 jobs)' "$dtrain" job list
  measure 'dtrain job status' "$dtrain" job status
  measure 'dtrain export compose' "$dtrain" export compose image.toml
  measure 'dtrain export slurm' "$dtrain" export slurm true.toml
  measure 'dtrain export kubernetes, 64 nodes' "$dtrain" export kubernetes pods.toml --kind jobset
  measure 'dtrain export kubernetes, 256 tasks' "$dtrain" export kubernetes roles.toml --kind jobset
done

printf '| command | median ms | quartiles | min | max |\n|---|---|---|---|---|\n'
for name in 'dtrain run' 'dtrain job run' '5,000,000 lines, --output-dir' '5,000,000 lines, job run' \
  'dtrain job list (30 jobs)' 'dtrain job status' 'dtrain export compose' 'dtrain export slurm' \
  'dtrain export kubernetes, 64 nodes' 'dtrain export kubernetes, 256 tasks'; do
  sort -n "times/$name" | awk -v name="$name" '{ ms[NR] = $1 }
    function at(part) { return ms[int(1 + part * (NR - 1) + 0.5)] }
    END { printf "| %s | %.1f | %.1f - %.1f | %.1f | %.1f |\n", name, at(0.5), at(0.25), at(0.75), ms[1], ms[NR] }'
done
