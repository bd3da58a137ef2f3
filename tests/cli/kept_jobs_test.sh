#!/usr/bin/env bash
# Jobs that outlive their terminal: dtrain job run --detach, list, status, logs, stop, wait and rm.
. "$(dirname "$0")/lib.sh"

jobs_root=dtrain/jobs

# Each test has a state folder of its own.
state() { export XDG_STATE_HOME=$PWD/state; }

job_file() { printf '%s\n' 'schema = 1' "$@" >job.toml; }

# Prints a member of a document: value FILE 'report.tasks.0.pid'.
value() {
  python3 - "$1" "$2" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
for name in sys.argv[2].split("."):
    found = found[int(name) if isinstance(found, list) else name]
print("null" if found is None else found)
END
}

status_is() {
  "$DTRAIN" job status --json "$1" >state.json 2>/dev/null && [[ $(value state.json state) == "$2" ]]
}

test_a_detached_job_is_listed_followed_and_waited_for() {
  state
  job_file 'np = 2' 'command = "echo rank $RANK; until test -e go; do sleep 0.05; done; echo end $RANK >&2; exit 3"'
  run_dtrain job run job.toml --detach
  expect_status 0
  expect_stdout 'job-1'
  run_dtrain job list
  expect_status 0
  expect_stdout_contains 'job-1  running'
  run_dtrain job status
  expect_stdout_contains 'job-1: running'
  expect_stdout_contains 'worker:1'
  run_dtrain job status --json job-1
  cp "$out/stdout" status.json
  [[ $(value status.json report.exit_status) == null ]] || fail "a running job has a status"
  [[ $(value status.json report.tasks.1.pid) -gt 0 ]] || fail "a running task has no pid"
  [[ $(value status.json report.tasks.1.address) == *:* ]] || fail "a running task has no address"
  "$DTRAIN" job logs -f >followed 2>followed.err &
  local follower=$!
  wait_for grep -qF '[1]<stdout>:rank 1' followed
  touch go
  run_dtrain job wait job-1
  expect_status 3
  wait "$follower" || fail "logs -f ended with $?"
  expect grep -qF '[0]<stdout>:rank 0' followed
  expect grep -qF '<stderr>:end' followed.err
  run_dtrain job list
  expect_stdout_contains 'job-1  ended  3'
  run_dtrain job status
  expect_stdout_contains 'ended with status 3'
  run_dtrain job logs --rank 0
  expect_stdout '[0]<stdout>:rank 0'
  run_dtrain job logs --role worker:1 --tail 0
  expect_stdout ''
  run_dtrain job rm job-1
  expect_status 0
  run_dtrain job list
  expect_stdout_lacks job-1
  expect_no_processes
}

test_a_foreground_job_is_listed_and_stopped() {
  state
  job_file 'name = "mnist"' 'np = 2' 'command = ["sleep", "60"]'
  start_dtrain job run job.toml
  wait_for status_is mnist-1 running
  run_dtrain job stop
  expect_status 0
  status=0
  wait "$pid" || status=$?
  expect_status 143
  run_dtrain job wait
  expect_status 143
  run_dtrain job stop mnist-1
  expect_status 0
  expect_no_processes
}

test_a_stop_with_a_grace_does_not_wait_for_that_of_the_job() {
  state
  job_file 'np = 1' 'grace = "1h"' 'command = "trap : TERM; while :; do sleep 0.1; done"'
  run_dtrain job run -d job.toml
  expect_status 0
  run_dtrain job stop --grace 0
  expect_status 0
  run_dtrain job wait
  expect_status 143
  expect_no_processes
}

test_a_job_that_cannot_start_says_why() {
  state
  job_file 'np = 1' 'command = ["no-such-program"]'
  run_dtrain job run -d job.toml
  expect_status 127
  expect_stderr_contains 'no-such-program'
  run_dtrain job status
  expect_stdout_contains 'ended with status 127'
  job_file 'np = 0' 'command = ["true"]'
  run_dtrain job run -d job.toml
  expect_status 2
  expect_stderr_contains 'job.toml:2:1'
}

test_a_killed_launcher_is_lost_and_its_logs_stay() {
  state
  job_file 'np = 1' 'command = "echo begun; sleep 60"'
  run_dtrain job run -d job.toml
  expect_status 0
  local launcher
  launcher=$("$DTRAIN" job list --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["launcher_pid"])')
  wait_for grep -q begun "state/$jobs_root/job-1/output/rank.0/stdout"
  kill -KILL "$launcher"
  wait_for status_is job-1 lost
  run_dtrain job wait
  expect_status 137
  expect_stderr_contains 'its launcher has died'
  run_dtrain job logs
  expect_stdout_contains '[0]<stdout>:begun'
  run_dtrain job stop
  expect_status 0
  expect_no_processes
}

test_a_job_survives_its_terminal() {
  state
  job_file 'np = 1' 'command = "until test -e go; do sleep 0.05; done; echo done"'
  # The pseudo-terminal ends with script(1), and the kernel hangs up all that is left on it.
  expect script -qec "$DTRAIN job run -d job.toml" /dev/null >said
  expect status_is job-1 running
  touch go
  run_dtrain job wait
  expect_status 0
}

test_two_jobs_at_once_have_their_own_ids() {
  state
  job_file 'np = 1' 'command = ["true"]'
  "$DTRAIN" job run job.toml >/dev/null 2>&1 &
  local one=$!
  run_dtrain job run job.toml
  expect_status 0
  expect wait "$one"
  expect test -e "state/$jobs_root/job-1/report.json"
  expect test -e "state/$jobs_root/job-2/report.json"
}

test_old_jobs_go_when_a_new_one_begins() {
  state
  local folder=state/$jobs_root job
  mkdir -p "$folder"
  for job in $(seq 1 40); do
    mkdir "$folder/old-$job"
    printf '{"began_s": %s, "exit_status": 0}\n' "$((1000 + job))" >"$folder/old-$job/summary.json"
    touch -d "2001-01-01 00:00:$job" "$folder/old-$job/job.toml" 2>/dev/null ||
      touch -d "2001-01-01 00:01:$((job - 40 + 20))" "$folder/old-$job/job.toml"
  done
  job_file 'np = 1' 'command = ["true"]'
  run_dtrain job run job.toml
  expect_status 0
  # 30 jobs with the new one.
  [[ $(find "$folder" -mindepth 1 -maxdepth 1 | wc -l) -eq 30 ]] || fail "$(ls "$folder")"
  expect_not test -e "$folder/old-1"
  expect test -e "$folder/old-40"
}

test_kept_output_is_bounded() {
  state
  # shellcheck disable=SC2016 # the variables are those of the process
  job_file 'np = 1' 'keep-output = "256K"' 'command = "i=0; while [ $i -lt 40000 ]; do echo \"line $i is here\"; i=$((i+1)); done"'
  run_dtrain job run job.toml --quiet
  expect_status 0
  local kept=state/$jobs_root/job-1/output/rank.0/stdout
  (($(du -k "$kept" | cut -f1) <= 300)) || fail "$(du -k "$kept") are kept"
  run_dtrain job logs
  expect_status 0
  expect_stdout_contains 'line 39999 is here'
  expect_stdout_lacks 'line 0 is here'
  expect_stderr_contains '--keep-output'
  run_dtrain job status --json
  cp "$out/stdout" status.json
  (($(value status.json report.tasks.0.output.dropped_bytes) > 100000)) || fail "$(cat status.json)"
  run_dtrain job logs --tail 2
  expect_stdout '[0]<stdout>:line 39998 is here
[0]<stdout>:line 39999 is here'
}

test_logs_have_a_task_of_many() {
  state
  # shellcheck disable=SC2016 # the variable is that of the process
  job_file 'np = 11' 'command = "echo rank $RANK"'
  run_dtrain job run job.toml
  expect_status 0
  run_dtrain job logs --rank 3
  expect_stdout '[3]<stdout>:rank 3'
  run_dtrain job logs --role worker:10
  expect_stdout '[10]<stdout>:rank 10'
  run_dtrain job status
  # Each has a file, whose age is shown.
  [[ $(grep -c ' ago ' "$out/stdout") -eq 11 ]] || fail "$(cat "$out/stdout")"
}

test_a_full_disk_does_not_end_a_job() {
  state
  [[ $EUID -eq 0 ]] || skip 'needs root, which mounts a small disk'
  mkdir state
  mount -t tmpfs -o size=300k none state 2>/dev/null || skip 'cannot mount a tmpfs here'
  job_file 'np = 1' 'command = "head -c 2000000 /dev/zero; echo; echo over; exit 5"'
  run_dtrain job run job.toml --no-tag
  local seen=$status
  umount state
  [[ $seen -eq 5 ]] || fail "the job ended with $seen"
  expect_stderr_contains 'cannot write'
}

test_a_reader_that_stops_reading_stops_no_job() {
  state
  job_file 'np = 1' 'command = "seq 1 200000; echo over >&2"'
  mkfifo pipe
  exec 9<>pipe
  run_dtrain job run -d job.toml
  "$DTRAIN" job logs -f >pipe 2>&1 &
  local logs=$!
  run_dtrain job wait
  expect_status 0
  kill "$logs"
  wait "$logs" || true
}

# A listener at the port that TF_CONFIG gives to this task.
listener='import json, os, socket
config = json.loads(os.environ["TF_CONFIG"])
address = config["cluster"][config["task"]["type"]][config["task"]["index"]]
server = socket.create_server(("0.0.0.0", int(address.rsplit(":")[-1])))
while True:
    client = server.accept()[0]
    client.sendall(str(os.getpid()).encode())
    client.close()'

# Prints the pid of the process that listens at an address.
ask() {
  python3 -c 'import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
print(socket.create_connection((host, int(port)), 5).recv(100).decode())' "$1" 2>/dev/null
}

answers_as_another() { [[ -n $(ask "$1") && $(ask "$1") != "$2" ]]; }

cluster_is_whole() { [[ $("$DTRAIN" job status --cluster-spec) == "$(cat spec.json)" ]]; }

test_a_standing_cluster_has_addresses_and_ends_by_stop() {
  state
  echo "$listener" >listener.py
  job_file 'success = "never"' "command = [\"python3\", \"$PWD/listener.py\"]" '[roles.ps]' 'replicas = 2' \
    'restart = "always"' '[roles.worker]' 'replicas = 1' 'restart = "always"'
  run_dtrain job run -d job.toml
  expect_status 0
  run_dtrain job status --cluster-spec
  expect_status 0
  cp "$out/stdout" spec.json
  local address first
  address=$(value spec.json ps.1)
  wait_for ask "$address"
  first=$(ask "$address")
  kill -KILL "$first"
  # It is back at the same address.
  wait_for answers_as_another "$address" "$first"
  wait_for cluster_is_whole
  run_dtrain job status --tf-config
  cp "$out/stdout" config.json
  [[ $(value config.json cluster.worker.0) == "$(value spec.json worker.0)" ]] || fail "$(cat config.json)"
  expect_not grep -q task config.json
  run_dtrain job stop
  expect_status 0
  run_dtrain job wait
  expect_status 0
  run_dtrain job status --cluster-spec
  expect_status 2
  expect_no_processes
}

test_another_user_reaches_no_job() {
  state
  [[ $EUID -eq 0 && -x /usr/bin/python3 ]] || skip 'needs root, which becomes another user, and /usr/bin/python3'
  job_file 'np = 1' 'command = ["sleep", "60"]'
  run_dtrain job run -d job.toml
  expect_status 0
  # Even where its folder is open, the launcher looks at who is there.
  local folder=$PWD/state/$jobs_root/job-1
  chmod -R a+rwX state
  chmod a+rwx "$folder" "$folder/socket"
  local up=$PWD
  while [[ $up != / ]]; do
    chmod a+x "$up"
    up=$(dirname "$up")
  done
  run setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
try:
    s.sendall(b"{\"ask\": \"stop\", \"grace_s\": null}\n")
    sys.exit(len(s.recv(100)))
except ConnectionError:
    pass  # closed before the request, or with it unread' "$folder/socket"
  expect_status 0
  expect status_is job-1 running
  run_dtrain job stop
  expect_status 0
}

test_a_shared_home_shows_jobs_of_other_machines() {
  state
  local folder=state/$jobs_root/mnist-1
  mkdir -p "$folder"
  printf '{"began_s": 1700000000, "machine": "login1", "boot": "x", "tasks": 2, "hosts": 1}\n' >"$folder/summary.json"
  printf 'schema = 1\n' >"$folder/job.toml"
  run_dtrain job list
  expect_stdout_contains 'on login1'
  run_dtrain job stop
  expect_status 2
  expect_stderr_contains 'ssh login1 dtrain job stop mnist-1'
}

test_bad_words_have_errors() {
  state
  run_dtrain job status
  expect_status 2
  expect_stderr_contains 'dtrain job run FILE'
  job_file 'np = 2' 'command = ["true"]'
  run_dtrain job run job.toml
  expect_status 0
  run_dtrain job logs --rank 7
  expect_status 2
  expect_stderr_contains 'job-1 has no rank 7; it has 0, 1'
  run_dtrain job logs --role ps
  expect_status 2
  expect_stderr_contains 'such as ps:0'
  run_dtrain job status ../../etc
  expect_status 2
  expect_stderr_contains 'there is no job "../../etc"'
  run_dtrain job status jab-1
  expect_status 2
  expect_stderr_contains 'did you mean job-1?'
  run_dtrain job stop job-1 job-2
  expect_status 2
  run_dtrain job list --jsn
  expect_status 2
  run_dtrain job rm
  expect_status 2
  run_dtrain run -np 1 --keep-output 1M true
  expect_status 2
  expect_stderr_contains '--output-dir'
  HOME='' XDG_STATE_HOME='' run_dtrain job list
  expect_status 2
  expect_stderr_contains 'XDG_STATE_HOME'
}

run_tests "$@"
