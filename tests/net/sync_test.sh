#!/usr/bin/env bash
# The files of --sync, on hosts with sshd.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

hosts_of_four=node1:1,node2:1,node3:1,node4:1

# in_tree WORD…: dtrain run in the folder "tree", on the launcher.
in_tree() {
  run_on_launcher env -C "$PWD/tree" "$DTRAIN" run --no-tag --report "$out/report.json" "$@"
}
start_in_tree() {
  start_on_launcher env -C "$PWD/tree" "$DTRAIN" run --no-tag --report "$out/report.json" "$@"
}

# expect_report EXPRESSION: true of `sync`, the report's member.
expect_report() {
  expect python3 -c 'import json, sys
sync = json.load(open(sys.argv[1]))["sync"]
assert eval(sys.argv[2]), sync' "$out/report.json" "$1"
}

# digest FOLDER: of the names, modes, links and contents of all files below it.
digest() {
  (cd "$1" && find . -mindepth 1 -name .dtrain -prune -o -type f -printf '%p %m\0' -o -printf '%p %y %l\0' | LC_ALL=C sort -z &&
    find . -name .dtrain -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum --zero) | sha256sum | cut -c1-64
}

# many_files N: in folders of 100.
many_files() {
  python3 -c 'import os, random, sys
random.seed(7)
for number in range(int(sys.argv[1])):
    folder = f"tree/part{number // 100}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{number}", "wb") as file:
        file.write(random.randbytes(random.randrange(24000)))' "$1"
}

test_a_tree_of_5000_files_is_the_same_on_four_hosts() {
  hosts_up 4
  mkdir tree
  many_files 5000
  printf 'x' >"tree/$(printf 'a \377 name\nof two lines')"
  ln -s part0/0 tree/link
  chmod +x tree/part1/100
  : >tree/empty
  wanted=$(digest tree)
  in_tree --sync-to copy -H "$hosts_of_four" true
  expect_status 0
  for k in 1 2 3 4; do
    [[ $(digest "$(home_of $k)/copy") == "$wanted" ]] || fail "the copy on node$k differs"
  done
  in_tree --sync-to copy -H "$hosts_of_four" true
  expect_status 0
  expect_report 'len(sync["hosts"]) == 4 and all(host["files_sent"] == 0 for host in sync["hosts"])'
  echo changed >tree/part3/333
  in_tree --sync-to copy -H "$hosts_of_four" true
  expect_status 0
  expect_report 'all(host["files_sent"] == 1 for host in sync["hosts"])'
  [[ $(digest "$(home_of 4)/copy") == "$(digest tree)" ]] || fail 'the change is not on node4'
  # A file that has moved is there, too.
  mv tree/part3/333 tree/moved
  in_tree --sync-to copy -H "$hosts_of_four" true
  expect_status 0
  expect_report 'all(host["files_sent"] == 0 for host in sync["hosts"])'
  [[ $(digest "$(home_of 4)/copy") == "$(digest tree)" ]] || fail 'the file has not moved on node4'
  # Trees for one job keep the contents.
  in_tree --sync -H "$hosts_of_four" true
  expect_status 0
  in_tree --sync -H "$hosts_of_four" true
  expect_status 0
  expect_report 'all(host["files_sent"] == 0 for host in sync["hosts"])'
  for k in 1 2 3 4; do
    expect_not ls -d "$(home_of $k)"/.cache/dtrain/trees/?*
  done
}

test_two_hosts_with_one_home_get_one_tree() {
  hosts_up 3
  mkdir tree
  many_files 50
  # As a home on NFS.
  host_setup 2 "mount --bind $(home_of 1) /root"
  # shellcheck disable=SC2016
  in_tree --sync --setup 'echo "set up on $(hostname)"' -H node1:1,node2:1,node3:1 sh -c 'ls part0 | wc -l; touch "$(hostname)"'
  expect_status 0
  expect_stdout '50
50
50'
  expect_report 'sorted(host["files_sent"] for host in sync["hosts"]) == [0, 50, 50]'
  [[ $(grep -c 'set up on' "$out/stderr") -eq 2 ]] || fail 'not one setup for each home'
  expect test -e "$(home_of 1)"/.cache/dtrain/trees/*/node2
}

test_a_host_behind_a_relay_gets_the_tree() {
  hosts_up 2
  mkdir tree
  many_files 50
  firewall l -p tcp --syn -j DROP
  in_tree --sync --verbose -H node1:1,node2:1 ls part0/7
  expect_status 0
  expect_stdout 'part0/7
part0/7'
  expect_stderr_contains 'its agent relays'
}

test_a_spare_takes_the_place_of_a_lost_host_with_the_tree() {
  hosts_up 3
  mkdir tree
  echo one >tree/file
  # shellcheck disable=SC2016
  start_in_tree --sync --max-restarts 2 --spare node3 -H node1:1,node2:1 \
    sh -c 'cat file; echo "generation $DTRAIN_GENERATION on $(hostname)"; until [ -e "$0/stop" ]; do sleep 0.1; done' "$PWD"
  wait_for stdout_has 'generation 1 on node2'
  kill -KILL "$(keeper_on 2)" "$(agent_on 2)"
  wait_for stdout_has 'generation 2 on node3'
  touch stop
  since_ms=$(now_ms)
  finish
  expect_status 0
  [[ $(grep -cx one "$out/stdout") -eq 4 ]] || fail 'a task has no tree'
  expect_no_processes
}

test_a_full_disk_names_host_and_path() {
  hosts_up 2
  mkdir tree
  head -c 20000000 /dev/urandom >tree/large
  host_setup 2 'mkdir -p /root/.cache && mount -t tmpfs -o size=16m tmp /root/.cache'
  host_setup 2 "$(private_tmp size=4m)"
  in_tree --sync -H node1:1,node2:1 true
  expect_status 2
  expect_stderr_contains 'node2: '
  expect_stderr_contains 'No space left on device'
  expect_stderr_lacks 'node1: '
  # A TARGET on a full disk keeps nothing that has arrived.
  in_tree --sync-to .cache/copy -H node1:1,node2:1 true
  expect_status 2
  expect_stderr_contains 'No space left on device'
  expect_not on_host 2 test -e /root/.cache/copy/.dtrain/staging
  expect on_host 2 test -e /root/.cache/copy/.dtrain
  # One host less, and it runs.
  in_tree --sync -H node1:1 true
  expect_status 0
}

# sends_to K: its sync process has begun to get the tree for the TARGET "copy".
sends_to() { ls "$(home_of "$1")"/copy/.dtrain/staging/?* >/dev/null 2>&1; }

test_a_host_that_is_killed_during_the_transfer() {
  hosts_up 2
  mkdir tree
  head -c 300000000 /dev/urandom >tree/large
  start_in_tree --sync --sync-to copy -H node1:1,node2:1 true
  wait_for sends_to 2
  kill -KILL "$(keeper_on 2)" "$(agent_on 2)"
  finish
  [[ $status -ne 0 ]] || fail 'it ran without node2'
  expect_stderr_contains 'node2: '
  expect_no_processes
  in_tree --sync --sync-to copy -H node1:1,node2:1 true
  expect_status 0
  [[ $(digest "$(home_of 2)/copy") == "$(digest tree)" ]] || fail 'the copy on node2 differs'
}

test_a_killed_launcher_leaves_a_tree_that_the_next_job_completes() {
  hosts_up 1
  mkdir tree
  head -c 300000000 /dev/urandom >tree/large
  start_in_tree --sync --sync-to copy -H node1:1 true
  wait_for sends_to 1
  kill -KILL "$pid"
  finish
  expect_no_processes
  in_tree --sync --sync-to copy -H node1:1 true
  expect_status 0
  [[ $(digest "$(home_of 1)/copy") == "$(digest tree)" ]] || fail 'the copy differs'
}

test_results_come_back_and_a_virtual_environment_is_made_once() {
  hosts_up 2
  mkdir tree
  echo 'import os, sys; print(sys.prefix); os.makedirs("out", exist_ok=True); open("out/rank" + os.environ["RANK"], "w").write("done")' >tree/train.py
  # shellcheck disable=SC2016
  set -- --sync --fetch out --setup 'python3 -m venv --without-pip "$DTRAIN_SETUP_DIR"' --setup-once -H node1:1,node2:1
  in_tree "$@" python3 train.py
  expect_status 0
  expect_file tree/out/rank0 'done'
  expect_not test -e tree/out/rank1
  [[ $(grep -c /root/.cache/dtrain/setups/ "$out/stdout") -eq 2 ]] || fail 'not the python of the virtual environment'
}

setups_have_started() { [[ -e $(home_of 1)/started && -e $(home_of 2)/started ]]; }

# setup_is_gone K: no process of a setup is left on this host.
setup_is_gone() { [[ -z $(processes_on "$1" sleep)$(processes_on "$1" dtrain-sync) ]]; }

test_a_signal_in_a_setup_ends_its_processes_on_all_hosts() {
  hosts_up 2
  mkdir tree
  echo one >tree/one
  for signal in INT KILL; do
    start_in_tree --sync --setup 'touch ~/started; sleep 1000 & trap "" INT TERM; sleep 1000' -H node1:1,node2:1 true
    wait_for setups_have_started
    signal $signal
    finish
    for k in 1 2; do
      wait_for setup_is_gone "$k"
      rm "$(home_of $k)/started"
    done
  done
  expect_not ls -d "$(home_of 1)"/.cache/dtrain/trees/?*
}

run_tests "$@"
