#!/usr/bin/env bash
# --max-restarts: after a failure all tasks start again.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

programs=$(dirname "$DTRAIN")/tests/programs

# Each task prints its generation. Rank 1 is killed in the first one, and fails in the second.
# shellcheck disable=SC2016  # the tasks' shell expands it
fails_twice='echo "rank $RANK of generation $DTRAIN_GENERATION: $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS"
case $RANK$DTRAIN_GENERATION in 11) kill -9 $$ ;; 12) exit 3 ;; ?3) exit 0 ;; esac
while :; do sleep 0.1; done'

# In the first generation, rank 0 runs $1, and rank 1 fails once the command $2 succeeds. The second one succeeds.
# shellcheck disable=SC2016  # the tasks' shell expands it
first_of() { echo '[ $DTRAIN_GENERATION = 1 ] || exec echo again; [ $RANK = 0 ] || { until '"$2"'; do sleep 0.05; done; exit 3; }; '"$1"; }

failures() { grep -c ' failed: ' "$out/stderr"; }

test_all_ranks_start_again_after_a_death_and_after_a_failure() {
  run_dtrain run -np 2 --max-restarts 5 --no-tag --report report.json sh -c "$fails_twice"
  expect_status 0
  expect grep -qx 'rank 1 of generation 1: 0 of 5' "$out/stdout"
  expect grep -qx 'rank 1 of generation 2: 1 of 5' "$out/stdout"
  expect test "$(sort "$out/stdout" | grep 'generation 3')" = 'rank 0 of generation 3: 2 of 5
rank 1 of generation 3: 2 of 5'
  expect test "$(sed 's/pid [0-9]*/pid P/' "$out/stderr")" = 'dtrain: rank 1 (host localhost, pid P) failed: killed by SIGKILL
dtrain: restart 1 of 5 after rank 1 on localhost: killed by SIGKILL; 2 ranks on localhost
dtrain: rank 1 (host localhost, pid P) failed: exit status 3
dtrain: restart 2 of 5 in 1s after rank 1 on localhost: exit status 3; 2 ranks on localhost'
  expect python3 -c 'import json
report = json.load(open("report.json"))
first, second, third = report["generations"]
assert [g["number"] for g in report["generations"]] == [1, 2, 3]
assert [g["world_size"] for g in report["generations"]] == [2, 2, 2]
assert all(g["hosts"] == ["localhost"] for g in report["generations"])
assert first["failure"]["rank"] == 1 and first["failure"]["cause"] == "killed by SIGKILL"
assert second["failure"]["cause"] == "exit status 3" and third["failure"] is None
assert first["waited_s"] is None and third["waited_s"] >= 1
assert first["ended_at_s"] <= second["began_at_s"] <= second["ended_at_s"] <= third["began_at_s"]
assert report["exit_status"] == 0 and report["failure"] is None
assert all(t["exit"]["code"] == 0 and t["completed"] for t in report["tasks"])'
  expect_no_processes
}

test_files_of_output_continue_with_a_line_between() {
  run_dtrain run -np 2 --max-restarts 1 --quiet --output-dir logs \
    sh -c 'echo "out $DTRAIN_GENERATION"; printf "no end of line" >&2; [ $RANK$DTRAIN_GENERATION != 11 ] || exit 3; [ $DTRAIN_GENERATION = 2 ] || exec sleep 60'
  expect_status 0
  expect_file logs/rank.1/stdout 'out 1
dtrain: restart 1 of 1 after rank 1 on localhost: exit status 3; 2 ranks on localhost
out 2'
  expect_file logs/rank.1/stderr 'no end of line
dtrain: restart 1 of 1 after rank 1 on localhost: exit status 3; 2 ranks on localhost
no end of line'
}

test_with_no_restart_left_the_last_failure_decides() {
  run_dtrain run -np 2 --max-restarts 2 --report report.json sh -c '[ $RANK = 1 ] || exec sleep 60; exit $((DTRAIN_GENERATION + 10))'
  expect_status 13
  expect test "$(failures)" = 3
  expect test "$(grep -c 'dtrain: restart ' "$out/stderr")" = 2
  expect python3 -c 'import json
report = json.load(open("report.json"))
assert [g["failure"]["cause"] for g in report["generations"]] == [f"exit status {n}" for n in (11, 12, 13)]
assert report["exit_status"] == 13 and report["failure"]["cause"] == "exit status 13"'
  expect_no_processes
}

test_without_a_limit_three_short_lives_end_as_the_first() {
  run_dtrain run -np 2 --min-np 1 --report report.json \
    sh -c '[ $RANK = 1 ] || exec sleep 60; echo line $DTRAIN_GENERATION >&2; exit $((DTRAIN_GENERATION + 10))'
  expect_status 11
  expect test "$(failures)" = 3
  expect_stderr_contains 'dtrain: restart 1 after rank 1 on localhost: exit status 11'
  expect_stderr_contains 'dtrain: restart 2 in 1s after rank 1 on localhost: exit status 12'
  expect_stderr_contains 'dtrain: 3 starts in a row have failed within 1m: the job ends as the first of them'
  expect python3 -c 'import json
report = json.load(open("report.json"))
assert [g["failure"]["cause"] for g in report["generations"]] == [f"exit status {n}" for n in (11, 12, 13)]
assert report["exit_status"] == 11 and report["failure"]["cause"] == "exit status 11"
assert report["failure"]["last_stderr"] == ["line 1"]'
  expect_no_processes
}

test_a_command_that_cannot_run_at_first_is_not_tried_again() {
  local status_of_shell
  for status_of_shell in 126 127; do
    run_dtrain run -np 1 --max-restarts 3 sh -c "exit $status_of_shell"
    expect_status $status_of_shell
    expect_stderr_lacks 'restart '
  done
  run_dtrain run -np 1 --max-restarts 3 ./no-such-program
  expect_status 127
  expect_stderr_lacks 'restart '
  run_dtrain run -np 1 --max-restarts 1 sh -c '[ $DTRAIN_GENERATION = 1 ] || exit 127; exit 3'
  expect_status 127
  expect test "$(failures)" = 2
}

test_a_failure_that_the_job_bears_restarts_nothing() {
  run_dtrain run -np 2 --on-failure continue --max-restarts 3 sh -c 'exit $RANK'
  expect_status 1
  expect_stderr_lacks 'restart '
  run_dtrain run --role ps=1,worker=2 --strategy parameter_server --ps-mode async --min-workers 1 --max-restarts 3 --no-tag \
    "$programs/ps_worker" 30 async 0 kill=1:10
  expect_status 0
  expect_stderr_contains 'failed: killed by SIGKILL; the training goes on without it'
  expect_stderr_lacks 'restart '
}

test_a_failure_that_the_job_cannot_bear_restarts_it() {
  run_dtrain run --role ps=1,worker=2 --strategy parameter_server --ps-mode async --min-workers 2 --max-restarts 3 --no-tag \
    sh -c '[ $DTRAIN_GENERATION = 1 ] && exec "$0" 1000000000 async 0 kill=1:10; exec "$0" 30 async 0' "$programs/ps_worker"
  expect_status 0
  expect_stderr_contains 'dtrain: restart 1 of 3 after '
  expect_stdout_contains 'worker 1: w = 60 60, step 60'
  expect_no_processes
}

test_restarts_of_the_role_come_first() {
  run_dtrain run -np 2 --restart-role worker=1 --max-restarts 1 --no-tag \
    sh -c '[ $RANK = 1 ] || exec sleep 60; echo "$DTRAIN_GENERATION $DTRAIN_ATTEMPT $TORCHELASTIC_RESTART_COUNT"; exit 3'
  expect_status 3
  expect_stdout '1 1 0
1 2 1
2 1 1
2 2 2'
  expect test "$(grep -c 'dtrain: warning: rank 1 .* failed: exit status 3; restart 1 of 1$' "$out/stderr")" = 2
  expect test "$(grep -c 'dtrain: restart 1 of 1 after rank 1 ' "$out/stderr")" = 1
}

# waits_for_restart ARG…: starts a job that fails until it waits for 4 s; on a slow machine, a later wait may have begun.
waits_for_restart() {
  start_dtrain run -np 2 --max-restarts 9 --report report.json "$@" sh -c 'exit 3'
  wait_for stderr_has 'restart 4 of 9 in 4s'
}

test_a_signal_ends_the_wait() {
  local name
  for name in INT TERM; do
    waits_for_restart --output-dir "logs-$name"
    signal "$name"
    finish
    expect_status $((128 + $(kill -l "$name")))
    expect_soon 1000
    expect_stderr_contains "dtrain: interrupted by SIG$name"
    expect test "$(failures)" -ge 4
    expect python3 -c 'import json, sys
report = json.load(open("report.json"))
assert report["reason"].startswith("interrupted by SIG") and len(report["generations"]) == int(sys.argv[1])
assert report["counters"] is not None and all(t["output"] is not None for t in report["tasks"])' "$(failures)"
    expect_no_processes
  done
}

test_a_time_limit_counts_from_the_first_generation() {
  run_dtrain run -np 1 --max-restarts 9 --timeout 2s sh -c '[ $DTRAIN_GENERATION = 1 ] || exec sleep 60; sleep 1; exit 3'
  expect_status 124
  expect_stderr_contains 'dtrain: time limit of 2s reached'
  expect_no_processes
}

# The limit comes within the wait of 8 s, 4 s after its begin.
test_a_time_limit_ends_the_wait() {
  run_dtrain run -np 1 --max-restarts 9 --timeout 11s --report report.json sh -c 'exit 3'
  expect_status 124
  expect_stderr_contains 'dtrain: time limit of 11s reached'
  # No task has started after the last line of a restart.
  expect python3 -c 'import json, sys
report = json.load(open("report.json"))
assert report["exit_status"] == 124 and len(report["generations"]) == int(sys.argv[1])' "$(grep -c 'dtrain: restart ' "$out/stderr")"
  expect_no_processes
}

test_a_launcher_killed_in_the_wait_leaves_nothing() {
  waits_for_restart
  signal KILL
  finish
  expect_status 137
  expect_no_processes
}

# The agent's keeper knows the tasks of the second generation, too. A lost host needs no status of --restart-on.
test_an_agent_killed_in_the_second_generation_leaves_nothing_to_the_third() {
  run_dtrain run -np 2 --max-restarts 3 --restart-on 42 --no-tag sh -c '[ $DTRAIN_GENERATION != 1 ] || exit 42
    [ $DTRAIN_GENERATION = 2 ] || { readlink "/proc/$(cat pid.$RANK)/exe"; exec echo again; }
    trap "" TERM
    echo $$ >pid.$RANK
    [ $RANK = 0 ] || { until [ -s pid.0 ]; do sleep 0.05; done; kill -KILL $PPID; }
    while :; do sleep 0.1; done'
  expect_status 0
  expect_stdout 'again
again'
  expect_stderr_contains 'dtrain: restart 2 of 3 in 1s: agent on localhost lost: its process ended: killed by SIGKILL; 2 ranks on localhost'
  expect test "$(grep -c '^dtrain: restart ' "$out/stderr")" = 2
  expect_no_processes
}

test_a_rank_that_ignores_term_is_killed_before_the_next_generation() {
  run_dtrain run -np 2 --grace 1s --max-restarts 1 --no-tag sh -c "$(first_of 'trap "" TERM; echo $$ >pid; while :; do sleep 0.1; done' '[ -s pid ]')"
  expect_status 0
  expect_stdout 'again
again'
  expect_not kill -0 "$(cat pid)"
  expect_no_processes
}

test_a_stopped_rank_is_killed_before_the_next_generation() {
  run_dtrain run -np 2 --max-restarts 1 --no-tag sh -c "$(first_of 'echo $$ >pid; kill -STOP $$; echo continued' 'grep -q "^State:.T" "/proc/$(cat pid)/status"')"
  expect_status 0
  expect_stdout 'again
again'
  expect_not kill -0 "$(cat pid)"
}

test_a_process_left_behind_with_the_port_of_its_rank_is_gone_before_the_next_generation() {
  cat >listen.py <<'END'
import os, socket, sys, time

s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", int(os.environ["DTRAIN_PORT"])))
s.listen()
print("listens at", os.environ["DTRAIN_PORT"], flush=True)
if len(sys.argv) > 1:
    open(sys.argv[1], "w").close()
    time.sleep(100)
END
  run_dtrain run -np 1 --port-range 41200-41300 --max-restarts 1 --no-tag sh -c '
    [ $DTRAIN_GENERATION = 1 ] || exec python3 listen.py
    setsid nohup sh -c "echo \$\$ >left.pid; nohup python3 listen.py left &" >out.1 2>&1
    until [ -e left ]; do sleep 0.05; done
    exit 3'
  expect_status 0
  expect test "$(cat "$out/stdout")" = "$(grep listens out.1)"
  expect_no_processes
}

test_input_that_was_read_is_empty_after_a_restart() {
  run sh -c 'printf "one\ntwo\n" | "$0" run -np 2 --stdin 0 --max-restarts 1 --no-tag "$@"' "$DTRAIN" \
    sh -c '[ $RANK = 0 ] || exit 0; echo "generation $DTRAIN_GENERATION: $(cat | tr "\n" " ")"; exit $((2 - DTRAIN_GENERATION))'
  expect_status 0
  expect_stdout 'generation 1: one two 
generation 2: '
  expect test "$(grep -c 'standard input was read before the restart: from now on it is empty' "$out/stderr")" = 1
}

test_only_some_statuses_restart_the_job() {
  run_dtrain run -np 1 --max-restarts 5 --restart-on 42,128-255 --no-tag \
    sh -c 'case $DTRAIN_GENERATION in 1) exit 42 ;; 2) kill -9 $$ ;; *) exit 3 ;; esac'
  expect_status 3
  expect test "$(grep -c 'dtrain: restart ' "$out/stderr")" = 2
  local value
  for value in 0 300 5-3 x ''; do
    run_dtrain run -np 1 --max-restarts 1 --restart-on "$value" touch started
    expect_status 2
    expect_stderr_contains 'dtrain: --restart-on: expected exit statuses of failures, such as 42,143,128-255, got '
    expect_not test -e started
  done
  run_dtrain run -np 1 --restart-on 42 touch started
  expect_status 2
  expect_stderr 'dtrain: --restart-on: without --max-restarts N, no job starts again'
}

test_wrong_values_are_named() {
  local value
  for value in -1 x 1.5 ''; do
    run_dtrain run -np 1 --max-restarts "$value" touch started
    expect_status 2
    expect_stderr "dtrain: --max-restarts: expected 0..2147483647, got \"$value\""
    expect_not test -e started
  done
  run_dtrain run -np 1 --max-restarts 0 sh -c 'exit 3'
  expect_status 3
  expect_stderr_lacks 'restart '
  run_dtrain run --cluster-spec '{"worker": ["localhost:41310", "localhost:41311"]}' --max-restarts 1 touch started
  expect_status 2
  expect_stderr_contains "--max-restarts: others start a part of the cluster's tasks"
  expect_not test -e started
}

# refused_spare LIST TEXT: a job of localhost and b does not start with this value of --spare.
refused_spare() {
  run_dtrain run -H localhost:1,b:1 --max-restarts 1 --spare="$1" touch started
  expect_status 2
  expect_stderr "dtrain: --spare$2"
  expect_not test -e started
}

test_a_host_of_the_job_is_no_spare() {
  refused_spare c:1,b:4 ' b: the job uses b already; name other hosts'
  refused_spare 127.0.0.1 ' 127.0.0.1: the job uses localhost already; name other hosts'
  refused_spare "$(hostname)" " $(hostname): the job uses localhost already; name other hosts"
  run_dtrain run -np 1 --max-restarts 1 --spare '[::1]:1' touch started
  expect_status 2
  expect_stderr 'dtrain: --spare ::1: the job uses localhost already; name other hosts'
  expect_not test -e started
}

test_wrong_lists_of_spares_are_named() {
  refused_spare '' ': empty host list; expected HOST[:SLOTS],… for example node1:4,node2:4'
  refused_spare c:0 ': host "c": slots must be 1..4096, got 0'
  refused_spare c:1,,d:1 ': empty entry at position 2 (after "c:1,")'
  refused_spare @missing ': cannot read "missing": No such file or directory'
  local restarts
  for restarts in '' --max-restarts=0; do
    run_dtrain run -np 1 $restarts --spare b:1 touch started
    expect_status 2
    expect_stderr 'dtrain: --spare: without --max-restarts N, no job starts again on other hosts'
    expect_not test -e started
  done
}

test_the_plan_shows_spares_from_each_source() {
  printf 'c slots=2\nd slots=1\n' >spares
  printf 'hosts = ["a:4", "b:2"]\nmax-restarts = 1\nspare = ["c:2", "d:1"]\n' >jobs.toml
  local source
  for source in '-H a:4,b:2 --max-restarts 1 --spare c:2,d:1' '-H a:4,b:2 --max-restarts 1 --spare c:2 --spare d:1' \
    '-H a:4,b:2 --max-restarts 1 --spare @spares' '--config-file jobs.toml'; do
    # shellcheck disable=SC2086  # words
    run_dtrain run $source --dry-run true
    expect_status 0
    expect_stdout_contains '6 processes on 2 hosts: true'
    expect grep -qx 'spare: c,d' "$out/stdout"
    expect_stderr 'dtrain: warning: --spare d:1: it has fewer slots than each host of the job has processes, and can take no place'
  done
  run_dtrain config show --config-file jobs.toml
  expect_stdout_contains 'spare = ["c:2", "d:1"]'
}

twice_steady() { [[ $(grep -cx steady "$out/stdout") -eq 2 ]]; }

# Starts steady workers, kills one, and waits until those of the next generation have summed. `env.1` has the
# environment of rank 1 of the first generation.
steady_after_a_kill() {
  start_dtrain run -np 3 --max-restarts 1 --no-tag \
    sh -c 'echo $$ >pid.$RANK.$DTRAIN_GENERATION; env -0 >env.$RANK.$DTRAIN_GENERATION; exec "$0" stop' "$programs/steady_worker"
  wait_for stdout_has steady
  kill -KILL "$(cat pid.1.1)"
  wait_for twice_steady
}

# ends_well: the job has restarted once, and all sums of the second generation were right.
ends_well() {
  touch stop
  finish
  expect_status 0
  expect test "$(grep -cx 'all sums were right' "$out/stdout")" = 3
  expect test "$(grep -c '^dtrain: restart ' "$out/stderr")" = 1
  expect_no_processes
}

test_ranks_sum_again_after_a_restart() {
  steady_after_a_kill
  ends_well
}

test_a_member_of_the_first_generation_cannot_join_the_second() {
  steady_after_a_kill
  local variables
  mapfile -d '' variables <env.1.1
  expect_not env -i "${variables[@]}" "$programs/steady_worker" stop 2>stale
  expect grep -q "launcher:0 does not know this job's token, or is of another job or generation" stale
  ends_well
}

run_tests "$@"
