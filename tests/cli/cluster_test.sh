#!/usr/bin/env bash
# The description of the job's cluster that tasks get: in TF_CONFIG, and by macros in commands and variables.
. "$(dirname "$0")/lib.sh"

expect_refusal_of() { # in words that contain $1
  expect_status 2
  expect_stderr_contains "$1"
  expect_stdout ''
  (($(wc -l <"$out/stderr") <= 4)) || fail 'expected at most four lines'
  expect_not test -e started
}

test_old_scripts_are_started_by_their_flags() {
  cat >train.py <<'END'
import argparse, json, os
parser = argparse.ArgumentParser()
for flag in ("job_name", "worker_hosts", "cluster_spec"):
    parser.add_argument("--" + flag)
parser.add_argument("--task_index", type=int)
flags = parser.parse_args()
config = json.loads(os.environ["TF_CONFIG"])
assert config["task"] == {"type": flags.job_name, "index": flags.task_index}, config
assert config["cluster"] == {"worker": flags.worker_hosts.split(",")}, config
assert flags.cluster_spec == "worker|" + flags.worker_hosts.replace(",", ";"), flags
assert os.environ["ADDRESS"] == config["cluster"]["worker"][flags.task_index], os.environ["ADDRESS"]
print(flags.job_name, flags.task_index, len(set(flags.worker_hosts.split(","))))
END
  run_dtrain run -np 3 --no-tag -x 'ADDRESS={host}:{port}' python3 train.py '--job_name={role}' \
    '--task_index={index}' '--worker_hosts={hosts:worker}' '--cluster_spec={cluster_spec}'
  expect_status 0
  expect_stderr ''
  expect_stdout_lines 'worker 0 3' 'worker 1 3' 'worker 2 3'
}

test_every_macro_has_the_value_of_its_variable() {
  # shellcheck disable=SC2016  # the workers' shell expands it
  run_dtrain run -np 2 --no-tag sh -c \
    '[ "$*" = "$RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $MASTER_PORT $DTRAIN_JOB_ID" ] && echo same' \
    sh '{rank}' '{local_rank}' '{world_size}' '{master_addr}' '{master_port}' '{job_id}'
  expect_status 0
  expect_stdout_lines same same
}

test_every_other_brace_stays() {
  words=('{"lr": 0.1, "rank": {"a": 1}}' '{}' '{{}}' '{lr}' '${HOME}' '{ role }' '{role' '{a,b}' '{ROLE}')
  run_dtrain run -np 1 --no-tag printf '%s\n' "${words[@]}"
  expect_status 0
  expect_stderr ''
  expect_stdout "$(printf '%s\n' "${words[@]}")"
}

# shellcheck disable=SC2016
test_braces_in_code_stay() {
  run_dtrain run -np 1 --no-tag bash -c 'host=own port=7; echo "${host}:${port}"'
  expect_status 0
  expect_stderr ''
  expect_stdout own:7
  run_dtrain run -np 1 --no-tag python3 -c 'for index in (5, 6): print(f"step {index}")'
  expect_stdout_lines 'step 5' 'step 6'
  run_dtrain run -np 1 --no-tag python3 -c 'rank=8;print(f"{rank}{rank:03}")'
  expect_stdout 8008
  run_dtrain run -np 1 --no-tag -x 'V=${role}' sh -c 'echo "$V" "$@"' sh 'a {rank}' '${rank}' '{rank}{wrank}'
  expect_stdout '${role} a {rank} ${rank} 0{wrank}'
}

test_a_dry_run_shows_the_arguments_as_tasks_get_them() {
  # shellcheck disable=SC2016  # not for this shell
  run_dtrain run --role ps=1 --role worker=2 --role-command 'ps=serve {port}' --dry-run \
    train '--task_index={index}' '--ps={hosts:ps}' 'a {rank}' '${rank}'
  expect_status 0
  expect_stdout_contains "worker:0 gets: train --task_index=0 '--ps=<localhost>:<port>' 'a {rank}' '\${rank}'"
  expect_stdout_contains "ps:0 gets: serve '<port>'"
  run_dtrain run -np 2 --dry-run train plain
  expect_stdout_lacks gets
  run_dtrain run -np 2 --dry-run --json train '{rank}' -c '{rank}'
  /usr/bin/python3 - "$out/stdout" <<'END' || fail 'not the expected document'
import json, sys
plan = json.load(open(sys.argv[1]))
assert plan["command"] == ["train", "{rank}", "-c", "{rank}"], plan
assert [t["command"] for t in plan["tasks"]] == [["train", str(i), "-c", "{rank}"] for i in range(2)], plan
END
}

test_a_word_that_is_nearly_a_macro_is_reported_and_stays() {
  run_dtrain run -np 2 --no-tag echo '{rank}' '{wrank}'
  expect_status 0
  expect_stdout_lines '0 {wrank}' '1 {wrank}'
  expect_stderr 'dtrain: warning: no such macros: {wrank} ({rank}?); they stay as they are (--no-macros turns this off)'
}

test_no_macros_leaves_all_braces() {
  run_dtrain run -np 1 --no-tag --no-macros -x 'V={role}' sh -c 'echo "$V" "$@"' sh '{rank}' '{hosts:none}' '{rol}'
  expect_status 0
  expect_stderr ''
  expect_stdout '{role} {rank} {hosts:none} {rol}'
}

test_values_are_expanded_where_the_user_wrote_them_alone() {
  printf 'FROM_FILE={role}{index}\n' >job.env
  export INHERITED='{role}' PASSED_ON='{role}'
  # shellcheck disable=SC2016
  run_dtrain run -np 2 --no-tag --env-file job.env -x 'SET={rank}/{world_size}' -x PASSED_ON \
    sh -c 'echo "$FROM_FILE $SET $INHERITED $PASSED_ON"'
  expect_status 0
  expect_stdout_lines 'worker0 0/2 {role} {role}' 'worker1 1/2 {role} {role}'
}

test_macros_for_tasks_that_the_job_lacks_are_refused() {
  for words in 'touch started {hosts:ps}' 'touch{rank} started' './{role}.sh'; do
    # shellcheck disable=SC2086
    run_dtrain run -np 1 $words
    expect_refusal_of "$(grep -oE '\{[^ ]+\}' <<<"$words" | tail -1)"
  done
  run_dtrain run -np 1 -x 'V={hosts:ps}' touch started
  expect_refusal_of '-x: V: {hosts:ps}: the job has no role ps; it has worker'
  run_dtrain run -np 1 --dry-run touch '{hosts:ps}'
  expect_refusal_of 'the job has no role ps'
}

test_a_filter_needs_a_ps() {
  run_dtrain run -np 2 --cluster-filter ps touch started
  expect_refusal_of '--cluster-filter ps: the job has no ps'
  run_dtrain run -np 2 --cluster-filter device touch started
  expect_refusal_of '--cluster-filter: expected none or ps, got "device"'
}

test_a_command_that_macros_make_too_long_for_the_kernel_is_refused_before_the_start() {
  ulimit -s 2048 # a quarter of it for arguments: 512 KiB
  words=()
  for ((i = 0; i < 700; ++i)); do words+=('{hosts:worker}'); done
  run_dtrain run -np 20 touch started "${words[@]}"
  expect_refusal_of 'the command and its environment can take'
}

run_tests "$@"
