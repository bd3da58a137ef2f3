#!/usr/bin/env bash
# Jobs in files: dtrain job run, check and init.
. "$(dirname "$0")/lib.sh"

repository=$(realpath "$(dirname "$0")/../..")

test_a_job_of_a_file_runs() {
  cat >job.toml <<'END'
schema = 1
command = ["sh", "-c", "echo $GREETING from $RANK of $WORLD_SIZE"]
env = { GREETING = "hello" }
report = "{name}.json"
output-dir = "out"
[roles.worker]
replicas = 2
[roles.helper]
replicas = 1
command = "echo helper $HELP; sleep 60"
env = { HELP = "it's \"here\"" }
END
  run_dtrain job run job.toml
  expect_status 0
  expect_stdout_contains '[0]<stdout>:hello from 0 of 2'
  expect_stdout_contains '[1]<stdout>:hello from 1 of 2'
  expect python3 -c 'import json; r = json.load(open("job.json")); assert r["name"] == "job", r["name"]'
  expect test -e out/rank.0/stdout
  run_dtrain job run job.toml --name other --no-tag -- sh -c 'exit 3'
  expect_status 3
  expect test -e other.json
  expect_no_processes
}

test_paths_of_a_file_begin_at_its_folder() {
  mkdir -p jobs/code
  echo 'X=from file' >jobs/x.env
  # shellcheck disable=SC2016 # the variables are those of the processes
  printf '%s\n' 'schema = 1' 'np = 1' 'env_file = "x.env"' 'chdir = "code"' 'no_tag = true' \
    'command = "echo $X; pwd"' >jobs/job.toml
  run_dtrain job run jobs/job.toml
  expect_stdout "from file
$PWD/jobs/code"
}

test_code_of_a_file_reaches_its_hosts() {
  mkdir -p tree
  echo 'echo a line of the tree' >tree/train.sh
  printf '%s\n' 'schema = 1' 'np = 1' 'no_tag = true' 'command = ["sh", "train.sh"]' '[code]' 'path = "."' \
    "target = \"$PWD/copy\"" >tree/job.toml
  (cd tree && "$DTRAIN" job run job.toml) >said 2>&1 || fail "$(cat said)"
  expect_file said 'a line of the tree'
  expect test -e copy/train.sh
}

test_processes_of_a_file_start_in_the_folder_of_its_code() {
  mkdir -p repository/part/deep jobs elsewhere
  git -C repository init -q
  echo 'echo here' >repository/part/train.sh
  : >repository/part/deep/file
  printf '%s\n' 'schema = 1' 'np = 1' 'no_tag = true' 'command = "pwd; cat train.sh"' '[code]' \
    'path = "../repository/part"' >jobs/job.toml
  (cd elsewhere && "$DTRAIN" job run ../jobs/job.toml) >said 2>&1 || fail "$(cat said)"
  expect grep -q '/part$' said
  expect grep -q 'echo here' said
  (cd repository && "$DTRAIN" job run ../jobs/job.toml --chdir part/deep -- pwd) >said 2>&1 || fail "$(cat said)"
  expect grep -q '/part/deep$' said
  sed -i 's/^\[code\]/chdir = "deep"\n&/; s/^command.*/command = "pwd"/' jobs/job.toml
  run_dtrain job run jobs/job.toml
  expect_status 0
  expect_stdout_contains /part/deep
}

test_a_check_prints_the_plan_and_starts_nothing() {
  printf '%s\n' 'schema = 1' 'np = 2' 'command = ["touch", "started"]' >job.toml
  run_dtrain job check job.toml
  expect_status 0
  expect_stdout_contains '2 processes on 1 host: touch started'
  run_dtrain job check job.toml --json
  expect python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["world_size"] == 2' "$out/stdout"
  expect_not test -e started
  run_dtrain job check --connect job.toml
  expect_status 0
  expect_stdout_contains localhost
  expect_not test -e started
}

test_a_mount_of_a_piece_joins_those_of_the_job() {
  mkdir -p one two
  printf '%s\n' '[mounts.two]' "source = \"$PWD/two\"" 'target = "/mnt/two"' 'read-only = true' >pieces.toml
  printf '%s\n' 'schema = 1' 'np = 1' 'command = ["true"]' 'use = ["mounts.two"]' \
    "mounts = [{ source = \"$PWD/one\", target = \"/mnt/one\" }]" >job.toml
  run_dtrain job check job.toml --pieces pieces.toml --json
  expect_status 0
  expect python3 -c 'import json, sys
mounts = json.load(open(sys.argv[1]))["mounts"]
assert [(m["target"], m["read_only"]) for m in mounts] == [("/mnt/one", False), ("/mnt/two", True)], mounts' "$out/stdout"
}

same_plan() {
  "$DTRAIN" job init -- "$@" >file.toml 2>said || fail "job init -- $*" "$(cat said)"
  "$DTRAIN" run --dry-run --json "$@" >of_line 2>&1 || fail "run $*" "$(cat of_line)"
  "$DTRAIN" job check file.toml --json >of_file 2>&1 || fail "job check of $*" "$(cat of_file)"
  diff of_line of_file >difference || fail "the file of $* is another job (<: the line)" "$(cat difference file.toml)"
}

# Prints the words behind `dtrain run` of each whole line in the documents, a line each.
documented_lines() {
  sed -nE 's/^ +(\$ )?dtrain run (.*[^\\])$/\2/p' "$repository/README.md" "$repository"/examples/*/README.md \
    "$repository"/docs/*.md | grep -v '[<>|&;]\|--dry-run\|--role-command\|--hostfile\|--sync\|@\|\.\.\.\|…'
}

test_the_file_of_a_documented_line_is_the_same_job() {
  local line count=0
  while read -r line; do
    line=${line%%  #*}
    eval "words=($line)"
    # shellcheck disable=SC2154 # eval sets words
    "$DTRAIN" run --dry-run "${words[@]}" >/dev/null 2>&1 || continue
    same_plan "${words[@]}"
    count=$((count + 1))
  done < <(documented_lines)
  [[ $count -ge 10 ]] || fail "compared only $count lines"
}

test_the_file_of_a_line_with_roles_is_the_same_job() {
  same_plan --role 'worker=2@localhost:3' --role 'ps=1@localhost:3' --role-command 'ps=sh -c "echo \"it'"'"'s\""' \
    --role-env 'ps=A=1 2' --restart-role ps=2 -x 'B="q" $s' ./train --flag 'two words'
  same_plan --role worker=2,ps=1 --role-gpus worker=0.5,ps=0 --role-cpus ps=2 --role-memory worker=1G ./train
  same_plan --role ps=2,worker=1 --role-ports ps=2222,2223 --role-ports worker=2224 --success never ./train
  same_plan -np 2 --role-ports worker=2222,2223 ./train
  same_plan -np 2 --role-gpus worker=1 --restart-role worker=2 ./train
  same_plan -np 2 --role ps=1 --role-gpus worker=1 --role-gpus ps=0 ./train
  same_plan -np 2 -H localhost:2 --timeout 1h --success all --clean all --max-restarts 2 -- ./train
}

test_init_writes_no_file_over_another() {
  run_dtrain job init -o job.toml -- -np 2 ./train
  expect_status 0
  expect grep -q '^np = 2' job.toml
  run_dtrain job init -o job.toml -- -np 3 ./train
  expect_status 2
  expect_stderr 'dtrain: "job.toml" exists; write to another file, or remove it'
  expect grep -q '^np = 2' job.toml
  run_dtrain job init -- -np 0 ./train
  expect_status 2
  expect_stdout ''
}

test_a_wrong_file_is_refused_with_its_line() {
  printf '%s\n' 'schema = 1' 'np = 2' 'tiemout = "2h"' >job.toml
  run_dtrain job run job.toml
  expect_status 2
  expect_stderr_contains 'job.toml:3:1: unknown option "tiemout"; did you mean timeout?'
  printf '%s\n' 'schema = 1' 'np = 2' 'timeout = "two hours"' 'command = "true"' >job.toml
  run_dtrain job run job.toml
  expect_status 2
  expect_stderr_contains 'job.toml:3:1: timeout: expected a duration'
  head -c 10000000 /dev/zero | tr '\0' '#' >job.toml
  run_dtrain job run job.toml
  expect_status 2
  expect_stderr_contains 'job.toml'
  run_dtrain job run "$PWD"
  expect_status 2
  run_dtrain job run missing.toml
  expect_stderr 'dtrain: job: cannot read "missing.toml": No such file or directory'
  expect_status 2
}

test_a_job_uses_pieces_of_a_file() {
  mkdir -p home/dtrain
  printf '%s\n' '[env.hello]' 'GREETING = "hello"' 'NAME = "piece"' '[roles.helper]' 'replicas = 1' \
    'command = "echo helper; touch ready; sleep 60"' >home/dtrain/pieces.toml
  chmod 0644 home/dtrain/pieces.toml
  # The end of the worker is that of the job, also for a helper that has not begun.
  # shellcheck disable=SC2016 # the variables are those of the processes
  printf '%s\n' 'schema = 1' 'use = ["env.hello", "roles.helper"]' 'no_tag = true' \
    'command = "until test -e ready; do sleep 0.02; done; echo $GREETING $NAME"' \
    'env = { NAME = "job" }' '[roles.worker]' 'replicas = 1' >job.toml
  run env XDG_CONFIG_HOME="$PWD/home" "$DTRAIN" job run job.toml
  expect_status 0
  expect_stdout_contains 'hello job'
  expect_stdout_contains 'helper'
  run_dtrain job run job.toml --pieces home/dtrain/pieces.toml
  expect_status 0
  expect_stdout_contains 'hello job'
  run env XDG_CONFIG_HOME="$PWD/home" "$DTRAIN" job pieces
  expect_stdout "env.hello     $PWD/home/dtrain/pieces.toml:1
roles.helper  $PWD/home/dtrain/pieces.toml:4"
  run_dtrain job pieces --json --pieces home/dtrain/pieces.toml
  expect python3 -c 'import json, sys; p = json.load(open(sys.argv[1]))["pieces"]; assert p[1]["line"] == 4, p' "$out/stdout"
  chmod 0666 home/dtrain/pieces.toml
  run env XDG_CONFIG_HOME="$PWD/home" "$DTRAIN" job run job.toml
  expect_status 2
  expect_stderr_contains 'job.toml:2:1: use: '
  expect_stderr_contains 'other users may write it'
  sed -i 's/env.hello/env.helo/' job.toml
  run_dtrain job run job.toml --pieces home/dtrain/pieces.toml
  expect_status 2
  expect_stderr_contains 'use: there is no piece "env.helo"; did you mean env.hello?'
  expect_no_processes
}

run_tests "$@"
