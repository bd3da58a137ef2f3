#!/usr/bin/env bash
# `dtrain check` of this machine, and of hosts that do not exist. tests/net has several real hosts.
. "$(dirname "$0")/lib.sh"

topics='ssh agent versions clock addresses own_name gpus cores memory open_files locked_memory shared_memory home temporary path folder python'

test_without_arguments_this_machine_is_checked() {
  run_dtrain check
  expect_status 0
  expect_stderr ''
  local topic
  for topic in $topics; do
    expect grep -qE "^  ${topic//_/ } +(ok|warning) +[^ ]" "$out/stdout"
  done
  expect_stdout_contains 'this machine, without ssh'
  expect test "$(tail -n 1 "$out/stdout" | cut -d: -f1)" = '1 host'
  expect test "$(wc -L <"$out/stdout")" -le 120
  expect_no_processes
}

test_the_document_has_a_status_for_every_topic() {
  run_dtrain check -H localhost --json
  expect_status 0
  expect_stderr ''
  cp "$out/stdout" document
  run /usr/bin/python3 -c '
import json, sys
d = json.load(open("document"))
host, = d["hosts"]
print(d["check_version"], host["name"], d["pairs"])
print(*[f["topic"] for f in host["findings"]])
assert {f["status"] for f in host["findings"]} <= {"ok", "warning"}
assert all((f["remedy"] is None) == (f["status"] == "ok") for f in host["findings"]), d
assert d["status"] == host["status"] == max((f["status"] for f in host["findings"]))
facts = host["facts"]
assert facts["cpus_allowed"] >= 1 and facts["memory_bytes"] > 0 and facts["home"]["path"], facts'
  expect_status 0
  expect_stdout "1 localhost []
$topics"
}

test_python_is_the_one_that_a_job_would_find() {
  mkdir bin
  printf '#!/bin/sh\necho Python 3.99.1\n' >bin/python3
  chmod +x bin/python3
  PATH=$PWD/bin:$PATH run_dtrain check
  expect_status 0
  expect_stdout_contains '3.99.1 at'
  expect_stdout_contains "$PWD/bin/python3"
  run env PATH=/nowhere "$DTRAIN" check
  expect_status 0
  expect_stdout_contains 'neither python3 nor python is in the PATH of the job'
}

test_the_jobs_command_and_modules_are_looked_up_on_the_host() {
  mkdir bin
  printf '#!/bin/sh\ntouch started\n' >bin/train
  chmod +x bin/train
  echo '__version__ = "4.5"' >mine.py
  PATH=$PWD/bin:/no/folder:$PATH run_dtrain check --import json,mine -- train --epochs 3
  expect_status 0
  grep -qE '^  path +ok .*(missing here: |such as )/no/folder$' "$out/stdout" || fail 'no line for PATH'
  grep -qF "$PWD/bin/train" "$out/stdout" || fail 'no path of the command'
  grep -qE '^  modules +ok +json 2[.0-9]+, mine 4.5$' "$out/stdout" || fail 'no versions of modules'
  expect_not test -e started
  PYTHONPATH=$PWD run_dtrain check --json --import nosuch -- nosuchcommand
  expect_status 1
  expect_stdout_contains "nosuch: ModuleNotFoundError: No module named 'nosuch'"
  expect_stdout_contains '"command_failure": "'
  expect_stdout_contains '"topic": "command",'
  expect_stdout_contains 'nosuchcommand'
}

# Both hosts are this machine, so that each reaches the other at 127.0.0.1, too.
test_loopback_addresses_lead_from_no_host_to_another() {
  printf '#!/bin/sh\nshift\nexec "$@"\n' >local.sh
  chmod +x local.sh
  ip -o address show scope global up | grep -q . || skip 'this machine has only the loopback'
  run_dtrain check --json --rsh-agent ./local.sh -H one,two
  expect_status 0
  expect_stdout_contains ' lead other hosts here"'
  expect_not grep -qE '"address": "(127\.|::1)' "$out/stdout"
  expect_not grep -qE '"text": "[^"]*127\.0\.0\.1[^"]* lead other hosts here' "$out/stdout"
}

test_limits_are_those_that_tasks_would_have() {
  run bash -c 'ulimit -Sn 512 && exec "$@"' - "$DTRAIN" check
  expect_status 0
  expect_stdout_contains '512, hard limit '
  expect_stdout_contains 'data loaders and NCCL want 1024'
  run bash -c 'ulimit -n 64 && exec "$@"' - "$DTRAIN" check -H localhost:100
  expect_status 1
  expect_stdout_contains '100 tasks need '
}

test_unreachable_hosts_fail_and_the_others_are_checked() {
  run_dtrain check --connect-timeout 300ms -p 1 -H localhost,127.0.0.2,nosuchhost
  expect_status 1
  expect_stderr ''
  expect_stdout_contains 'Connection refused'
  expect_stdout_contains 'sshd running there?'
  expect grep -qE "ssh +failure .*nosuchhost" "$out/stdout"
  expect_stdout_contains 'this machine, without ssh'
  expect_stdout_contains '3 hosts: 2 failures'
  expect_no_processes
}

test_options_come_from_the_file_and_variables_as_for_run() {
  printf 'np = 4\nhosts = ["127.0.0.2:4"]\nssh-port = 1\nconnect-timeout = "200ms"\n' >dtrain.toml
  run_dtrain check
  expect_status 1
  expect_stdout_contains '127.0.0.2'
  run env DTRAIN_OPT_HOSTS=localhost:1 "$DTRAIN" check
  expect_status 0
  expect_stdout_contains 'localhost'
}

# refused ARGUMENT… -- TEXT: expects status 2 and this message.
refused() {
  local words=() text=${!#}
  while [[ $1 != -- ]]; do words+=("$1") && shift; done
  run_dtrain check "${words[@]}"
  expect_status 2
  expect_stdout ''
  expect_stderr_contains "$text"
  expect test "$(wc -l <"$out/stderr")" -le 4
}

test_the_folder_of_a_job_is_looked_for() {
  mkdir project && touch project/train.py
  run_dtrain check --chdir "$PWD/project" -- python3 train.py
  expect_stdout_contains "$PWD/project"
  run_dtrain check --chdir /nonexistent -- python3 train.py
  grep -qE '^  folder +warning +/nonexistent cannot be entered' "$out/stdout" || fail 'no warning of the folder'
  run_dtrain check --json
  expect_stdout_contains '"own_name"'
}

test_wrong_arguments_are_refused_before_anything_starts() {
  refused --oversubscribe -- '--oversubscribe: an option of dtrain run, not of dtrain check'
  refused -np 4 -- '-np: an option of dtrain run, not of dtrain check; see: dtrain help check'
  refused --hostfil x -- '--hostfil: no such option; did you mean --hostfile?'
  refused --jsno -- '--jsno: no such option; did you mean --json?'
  refused --import 'os;x' -- '--import: expected modules of Python, as torch,numpy, got "os;x"'
  refused node1 -- 'check: starts no command, so "node1" means nothing to it; hosts go behind -H, the command of a job behind --'
  refused -H -- '-H: needs a value, HOSTS; see: dtrain help check'
  refused -H 'a:x' -- 'host "a": slots must be 1..4096, got "x"'
  refused --hostfile gone -- '--hostfile: cannot read "gone": No such file'
  refused --ssh-port 0 -- '--ssh-port: expected 1..65535, got 0'
  refused --color blue -- '--color: expected auto, always or never'
  run_dtrain chek
  expect_stderr_contains 'did you mean dtrain check?'
}

test_an_interrupt_ends_it_with_130_and_leaves_nothing() {
  mkdir bin
  printf '#!/bin/sh\necho up >started\nexec sleep 60\n' >bin/ssh
  sed -i "s;>started;>$PWD/started;" bin/ssh
  chmod +x bin/ssh
  PATH=$PWD/bin:$PATH start_dtrain check --ssh openssh -H nowhere,localhost
  wait_for test -s started
  signal INT
  finish
  expect_status 130
  expect_stderr_contains 'interrupted by SIGINT'
  expect_stdout ''
  expect_no_processes
}

test_colours_are_for_terminals_only() {
  run_dtrain check
  expect_not grep -q $'\x1b' "$out/stdout"
  run_dtrain check --color always
  expect_stdout_contains $'\x1b[0;32mok      \x1b[0m this machine, without ssh'
}

run_tests "$@"
