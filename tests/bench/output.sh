#!/usr/bin/env bash
# Measures the throughput of the output of eight tasks, half of it on stdout and half on stderr: into files by
# --output-dir, and tagged into a pipe. Checks every byte of the files, and prints a Markdown table with the
# peak memory of launcher and agent.
#
#   output.sh [MB a task]      # needs as much space as all tasks write, in TMPDIR
set -euo pipefail

dtrain=$(realpath "${DTRAIN:-$(dirname "$0")/../../build/release/dtrain}")
megabytes=${1:-1000}
tasks=8
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The lines have the form that training scripts print.
lines=$folder/lines
yes 'epoch 3 step 01200/05000 loss 0.218437 accuracy 0.9312 lr 1.0e-03 tokens/s 48210.7' |
  head -c "$((megabytes * 500000))" >"$lines" || true
job=("$dtrain" run -np "$tasks")
task=(sh -c "cat '$lines'; cat '$lines' >&2")

peak_kb() { awk '$1 == "VmHWM:" { print $2 }' "/proc/$1/status" 2>/dev/null || true; }

# Writes the peak memory of a job's launcher and agent to $folder/peak until the job has ended.
watch_memory() {
  local launcher=$1 agent here there
  while kill -0 "$launcher" 2>/dev/null; do
    here=$(peak_kb "$launcher")
    agent=$(pgrep -P "$launcher" -x dtrain-agent || true)
    there=$([[ -z $agent ]] || peak_kb "$agent")
    if [[ -n $here && -n $there ]]; then echo "$here $there" >"$folder/peak"; fi
    sleep 0.2
  done
}

# measure NAME COMMAND…: runs the job and prints its row of the table.
measure() {
  local name=$1 begin took launcher
  shift
  begin=${EPOCHREALTIME/./}
  "$@" &
  launcher=$!
  watch_memory "$launcher"
  wait "$launcher"
  took=$((${EPOCHREALTIME/./} - begin))
  awk -v name="$name" -v us="$took" -v bytes="$(($(stat -c %s "$lines") * 2 * tasks))" '{
    printf "| %s | %.1f | %.0f | %.1f | %.1f |\n", name, us / 1e6, bytes / us, $1 / 1024, $2 / 1024 }' "$folder/peak"
}

into_files() { exec "${job[@]}" --quiet --output-dir "$folder/out" "${task[@]}"; }
into_pipe() { exec "${job[@]}" "${task[@]}" > >(cat >/dev/null) 2>&1; }

printf '\n%d tasks, %d MB each\n\n' "$tasks" "$megabytes"
printf '| into | seconds | MB/s | launcher MB | agent MB |\n|---|---|---|---|---|\n'
measure files into_files
for file in "$folder"/out/*/*; do cmp "$lines" "$file"; done
rm -rf "$folder/out"
measure 'a pipe' into_pipe
