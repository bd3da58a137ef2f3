#!/usr/bin/env bash
# Measures --sync beside rsync: a tree of 5,000 files and 60 MB, to hosts that are network namespaces of this machine,
# each with an sshd. Runs as root, needs rsync, and prints two Markdown tables: times, and the memory of the launcher.
#
#   sync.sh [rounds [hosts]]    0 rounds: the memory alone
set -euo pipefail
here=$(realpath "$(dirname "$0")")
rounds=${1:-9}
hosts=${2:-1}
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=../cli/lib.sh
. "$here/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$here/../net/lib.sh"
out=$folder
skip() { echo "not measured: $*" && exit 0; }
command -v rsync >/dev/null || skip 'no rsync here'

make_tree() {
  python3 -c 'import os, random
random.seed(7)
for number in range(5000):
    folder = f"tree/part{number // 100}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{number}", "wb") as file:
        file.write(random.randbytes(random.randrange(24000)))'
}

# measure NAME COMMAND…: adds its ms to those of NAME.
measure() {
  local name=$1 began
  shift
  began=$EPOCHREALTIME
  on_launcher "$@" >"$folder/stdout" 2>"$folder/stderr" || fail "$name: $(cat "$folder/stderr")"
  awk -v began="$began" -v ended="$EPOCHREALTIME" 'BEGIN { printf "%.1f\n", (ended - began) * 1000 }' >>"$folder/ms/$name"
}

# Many hosts on few cores take long to log in.
dtrain_run=("$dtrain" run --no-tag --start-timeout 5m)
names=$(seq -s, -f 'node%g:1' "$hosts")
without() { measure "$1, no files" "${dtrain_run[@]}" -H "$names" true; }
by_dtrain() { measure "$1, dtrain" env -C "$folder/tree" "${dtrain_run[@]}" --sync-to copy -H "$names" true; }
by_dtrain_tree() { measure "$1, dtrain, a new tree" env -C "$folder/tree" "${dtrain_run[@]}" --sync -H "$names" true; }
# shellcheck disable=SC2016  # expanded by the shell there
by_rsync() {
  measure "$1, rsync" bash -ec 'for ((k = 1; k <= $1; ++k)); do rsync -a --delete -e ssh "$2/" "node$k:copy-rsync" & pids+=($!); done
    for pid in "${pids[@]}"; do wait "$pid"; done' rsync "$hosts" "$folder/tree"
}
# Moves all copies aside, and lets the disk write what is on its way. It removes nothing: for some minutes, ext4 does
# not use inodes of removed files again, and searches among them for each file that it makes.
forget() {
  local k home made
  for ((k = 1; k <= hosts; ++k)); do
    home=$(home_of "$k")
    mkdir -p "$home/aside/$1"
    for made in copy copy-rsync .cache/dtrain/objects .cache/dtrain/trees; do
      if [[ -e $home/$made ]]; then mv "$home/$made" "$home/aside/$1"; fi
    done
  done
  rm -rf "$(launcher_home)"/.cache/dtrain/digests
  sync
}

# peak NAME OPTION…: adds the peak memory of a job's launcher in KiB, and that of its sync process, to those of NAME. The
# job stays when all hosts have the tree, until both are read.
# shellcheck disable=SC2016  # expanded by the tasks
peak() {
  local name=$1 launcher process kib=() home
  home=$(home_of 1)
  shift
  rm -f "$home/started" "$home/stop"
  "$out/net/on_launcher" env -C "$folder/tree" "${dtrain_run[@]}" "$@" -H "$names" \
    sh -c '[ "$RANK" != 0 ] || { touch ~/started; until [ -e ~/stop ]; do sleep 0.1; done; }' >"$folder/stdout" 2>"$folder/stderr" &
  launcher=$!
  until [[ -e $home/started ]]; do
    kill -0 "$launcher" || fail "$name: $(cat "$folder/stderr")"
    sleep 0.1
  done
  for process in "$launcher" $(cat "/proc/$launcher/task/$launcher/children"); do
    case $(cat "/proc/$process/comm") in
      dtrain | dtrain-sync) kib+=("$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$process/status")") ;;
    esac
  done
  touch "$home/stop"
  wait "$launcher" || fail "$name: $(cat "$folder/stderr")"
  echo "${kib[*]}" >>"$folder/kib/$name"
}

print_times() {
  printf '| %s hosts | median ms | quartiles | min | max |\n|---|---|---|---|---|\n' "$hosts"
  for name in 'the job alone, no files' 'first time, dtrain' 'first time, dtrain, a new tree' \
    'first time, rsync' 'nothing changed, dtrain' 'nothing changed, dtrain, a new tree' 'nothing changed, rsync' \
    'one file changed, dtrain' 'one file changed, rsync'; do
    sort -n "ms/$name" | awk -v name="$name" '{ ms[NR] = $1 }
      END { printf "| %s | %.0f | %.0f - %.0f | %.0f | %.0f |\n", name, ms[int((NR + 1) / 2)], ms[int((NR + 3) / 4)],
            ms[int((3 * NR + 3) / 4)], ms[1], ms[NR] }'
  done
}

# The last column is what --sync adds: of both processes, which share some pages.
print_memory() {
  printf '\n| %s hosts, peak memory | launcher, MiB | sync process, MiB | above the job alone, MiB |\n|---|---|---|---|\n' "$hosts"
  for name in 'the job alone, no files' 'first time, dtrain' 'nothing changed, dtrain'; do
    awk -v name="$name" 'FNR == 1 { own = sync = 0 }
      { if ($1 > own) own = $1; if ($2 > sync) sync = $2 }
      FNR == NR { alone = own }
      END { printf "| %s | %.1f | %.1f | %.1f |\n", name, own / 1024, sync / 1024, (own + sync - alone) / 1024 }' \
      'kib/the job alone, no files' "kib/$name"
  done
}

# A subshell, since hosts_up traps its exit.
(
  cd "$folder"
  mkdir ms kib
  make_tree
  # shellcheck disable=SC2031
  export TEST_MARKER=$$-bench
  hosts_up "$hosts"
  without warm-up
  rm ms/*
  for ((round = 0; round < rounds; ++round)); do
    without 'the job alone'
    forget "$round"
    first=(by_dtrain by_rsync)
    if ((round % 2)); then first=(by_rsync by_dtrain); fi
    for by in "${first[@]}"; do
      "$by" 'first time'
      sync
    done
    by_dtrain 'nothing changed'
    by_rsync 'nothing changed'
    echo "$round" >tree/part7/777
    by_dtrain 'one file changed'
    by_rsync 'one file changed'
  done
  # Each of these jobs removes its tree at the end.
  for ((; round < 2 * rounds; ++round)); do
    forget "$round"
    by_dtrain_tree 'first time'
    by_dtrain_tree 'nothing changed'
  done
  for ((job = 0; job < (rounds < 1 ? 1 : rounds < 3 ? rounds : 3); ++job)); do
    peak 'the job alone, no files'
    forget "peak$job"
    peak 'first time, dtrain' --sync-to copy
    peak 'nothing changed, dtrain' --sync-to copy
  done
  ((rounds == 0)) || print_times
  print_memory
)
