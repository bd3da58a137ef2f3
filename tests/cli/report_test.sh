#!/usr/bin/env bash
# dtrain run --report: one JSON document at the end of every job.
. "$(dirname "$0")/lib.sh"

# expect_report EXPRESSION…: each Python expression holds; `r` is the document.
expect_report() {
  python3 - report.json "$@" <<'END' || fail "the report is not as expected: $(cat report.json)"
import json, sys
r = json.load(open(sys.argv[1]))
wrong = [e for e in sys.argv[2:] if not eval(e)]
sys.exit("not so: " + "; ".join(wrong) if wrong else 0)
END
}

test_a_report_has_hosts_tasks_times_and_counts() {
  before=$(date -u +%Y-%m-%dT%H:%M)
  run_dtrain run -np 2 --report report.json sh -c 'echo twelve bytes; echo err >&2; sleep 0.2'
  expect_status 0
  [[ $(stat -c %a report.json) == 600 ]] || fail 'others may read it'
  [[ $(ls -A) == report.json ]] || fail "something else is left: $(ls -A)"
  expect_report 'r["exit_status"] == 0 and r["reason"] is None and r["failure"] is None' \
    'r["command"][:2] == ["sh", "-c"] and len(r["job"]) >= 8 and r["world_size"] == 2' \
    "r['start'] >= '$before' and r['end'] > r['start'] and r['end'].endswith('Z')" \
    'r["duration_s"] >= 0.2' \
    'r["hosts"][0]["tasks"] == 2 and r["hosts"][0]["contained_by"]' \
    '[t["rank"] for t in r["tasks"]] == [0, 1]' \
    '[t["pid"] > 1 for t in r["tasks"]] == [True, True]' \
    'all(0 < t["started_at_s"] < t["ended_at_s"] <= r["duration_s"] for t in r["tasks"])' \
    'all(t["ended_at_s"] >= 0.2 for t in r["tasks"])' \
    'all(t["exit"] == {"code": 0, "signal": None, "oom": False} for t in r["tasks"])' \
    'all(t["output"] == {"stdout_bytes": 13, "stderr_bytes": 4, "lost_bytes": 0, "dropped_bytes": 0} for t in r["tasks"])' \
    'r["counters"]["rendezvous"]["connections"] == 0'
}

test_a_stale_report_never_survives() {
  local wrong
  for wrong in '' '--timout 3' '--np x' '--hosts' '-np 2 --env-file nothing' \
    '--dry-run=false --np x'; do
    echo '{"exit_status": 0}' >report.json
    # shellcheck disable=SC2086 # several words
    run_dtrain run --report report.json $wrong true
    expect_status 2
    expect_not test -e report.json
  done
  for wrong in 'report = "report.json"' 'report = "report.json"
np = 0'; do
    echo '{"exit_status": 0}' >report.json
    printf '%s\n' "$wrong" >dtrain.toml
    run_dtrain run true
    expect_status 2
    expect_not test -e report.json
  done
  rm dtrain.toml
  echo '{"exit_status": 0}' >report.json
  start_dtrain run -np 1 --report report.json sh -c 'echo started; exec sleep 60'
  wait_for stdout_has started
  expect_not test -e report.json
  signal KILL
  finish
  expect_not test -e report.json
  expect_no_processes
}

test_what_is_no_report_of_this_user_is_left_alone() {
  echo keep >kept
  ln kept linked
  ln -s kept link
  for name in linked link; do
    run_dtrain run --report $name --timout 3 true
    expect_status 2
    expect_file kept keep
    expect test -e $name
  done
  # Words of the command are not ours, and a plan writes no report.
  echo keep >mine
  run_dtrain run --timout 3 true --report mine
  expect_status 2
  run_dtrain run --dry-run --report mine true
  expect_file mine keep
}

test_a_report_counts_what_each_rank_used() {
  cat >work.py <<'END'
import os
if os.environ["RANK"] == "1":
    block = bytearray(100 << 20)
    total = sum(range(3000000))
END
  run_dtrain run -np 2 --report report.json python3 work.py
  expect_status 0
  expect_report 'r["tasks"][1]["resources"]["max_rss_bytes"] > 100 << 20' \
    'r["tasks"][0]["resources"]["max_rss_bytes"] < 100 << 20' \
    'r["tasks"][1]["resources"]["user_s"] > r["tasks"][0]["resources"]["user_s"]'
}

test_the_report_of_a_failure_names_it() {
  run_dtrain run -np 2 --report report.json sh -c \
    'if [ $RANK = 1 ]; then echo because >&2; kill -SEGV $$; fi; sleep 60'
  expect_status 139
  expect_report 'r["exit_status"] == 139 and r["reason"] is None' \
    'r["failure"]["rank"] == 1 and r["failure"]["cause"].startswith("killed by SIGSEGV")' \
    'r["failure"]["pid"] == r["tasks"][1]["pid"] and r["failure"]["last_stderr"] == ["because"]' \
    'r["tasks"][1]["exit"]["signal"] == "SIGSEGV" and r["tasks"][1]["exit"]["code"] is None' \
    'r["tasks"][0]["exit"]["signal"] == "SIGTERM"'
}

test_a_job_that_was_stopped_has_a_report_too() {
  start_dtrain run -np 1 --report report.json sh -c 'echo ready; exec sleep 60'
  wait_for stdout_has ready
  signal INT
  finish
  expect_status 130
  expect_report 'r["exit_status"] == 130 and r["reason"] == "interrupted by SIGINT"'
  run_dtrain run -np 1 --report report.json --timeout 200ms sleep 60
  expect_status 124
  expect_report 'r["exit_status"] == 124 and r["reason"] == "time limit of 200ms reached"'
}

test_a_job_that_never_started_has_a_report_with_the_reason() {
  run_dtrain run -np 2 --report report.json no-such-command
  expect_status 127
  expect_report 'r["exit_status"] == 127 and "no-such-command" in r["reason"]' \
    'r["tasks"][1]["pid"] is None and r["tasks"][1]["exit"] is None'
  run_dtrain run -np 2 --report report.json --chdir /no/such true
  expect_status 2
  expect_report 'r["exit_status"] == 2 and "/no/such" in r["reason"]'
}

test_a_lost_agent_leaves_its_tasks_without_an_end() {
  start_dtrain run -np 1 --report report.json sh -c 'echo $PPID; exec sleep 60'
  wait_for grep -q . "$out/stdout"
  kill -KILL "$(sed 's/.*://' "$out/stdout")"
  finish
  expect_status 3
  expect_report 'r["exit_status"] == 3 and "agent on localhost lost" in r["reason"]' \
    'r["tasks"][0]["pid"] > 1 and r["tasks"][0]["exit"] is None' \
    'r["hosts"][0]["contained_by"] is None'
}

test_lost_output_is_counted() {
  "$DTRAIN" run -np 1 --on-lost-output continue --report report.json sh -c 'seq 20000' 2>errors | head -n 1 >first
  expect_report 'r["tasks"][0]["output"]["stdout_bytes"] == 108894' \
    'r["tasks"][0]["output"]["lost_bytes"] > 0' \
    'r["tasks"][0]["output"]["lost_bytes"] <= 108894'
}

test_a_report_that_cannot_be_written_is_refused_before_anything_starts() {
  touch file
  mkdir folder
  for path in file/report.json folder; do
    run_dtrain run -np 1 --report "$path" touch started
    expect_status 2
    expect_stderr_contains "--report: cannot write $path: "
    expect_not test -e started
  done
  run_dtrain run -np 1 --report - touch started
  expect_status 2
  expect_stderr_contains 'standard output is the workers'
  expect_not test -e started
  run_dtrain run -np 1 --dry-run --report dry.json true
  expect_status 0
  expect_not test -e dry.json
}

test_a_report_goes_to_a_pipe_as_well() {
  "$DTRAIN" run -np 1 --report >(cat >report.json) true
  wait_for test -s report.json
  wait_for sh -c 'tail -n 1 report.json | grep -q "^}"'
  expect_report 'r["exit_status"] == 0'
}

test_a_report_that_fails_at_the_end_is_a_failure() {
  mkdir folder
  run_dtrain run -np 1 --report folder/report.json rmdir folder
  expect_status 1
  expect_stderr 'dtrain: --report: cannot write folder/report.json: No such file or directory'
}

test_a_report_of_another_user_is_refused_before_the_job() {
  [[ $(id -u) -eq 0 ]] || skip 'only root can make files of another user'
  echo keep >report.json
  chown 65534 report.json || skip 'no other user here'
  run_dtrain run -np 1 --report report.json touch started
  expect_status 2
  expect_stderr 'dtrain: --report: cannot write report.json: it belongs to another user; remove it, or give another name'
  expect_file report.json keep
  expect_not test -e started
}

run_tests "$@"
