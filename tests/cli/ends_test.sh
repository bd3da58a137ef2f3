#!/usr/bin/env bash
# The end of a job: the tasks that decide it (--success), the end of the others (--clean), and the cause in
# the report of a failure.
. "$(dirname "$0")/lib.sh"

# Rank 0 ends when rank 1 has signalled that its traps are set.
first_done='[ $RANK = 1 ] || { while [ ! -e ready ]; do sleep 0.02; done; exit 0; }'

test_a_worker_that_is_not_needed_any_more_ends_and_has_completed() {
  run_dtrain run -np 2 --success worker-0 --grace 1 --report report.json -- \
    sh -c "$first_done; trap 'echo told; exit 9' TERM; : >ready; while :; do sleep 0.05; done 2>/dev/null"
  expect_status 0
  expect_stdout_contains '[1]<stdout>:told'
  expect_stderr ''
  expect grep -q '"failed_tasks": 0' report.json
  expect test "$(grep -c '"completed": true' report.json)" = 2
  expect grep -q '"code": 9' report.json
  expect_no_processes
}

test_a_worker_gets_time_to_end_by_itself() {
  run_dtrain run -np 2 --success worker-0 --grace 30 -- \
    sh -c "$first_done; trap 'echo told' TERM; : >ready; sleep 0.5; echo by itself"
  expect_status 0
  expect_stdout '[1]<stdout>:by itself'
  expect_soon
}

test_clean_none_waits_for_the_others_and_ignores_their_statuses() {
  run_dtrain run -np 2 --success worker-0 --clean none --grace 0 -- \
    sh -c "$first_done; trap 'echo told' TERM; : >ready; sleep 0.5; echo by itself; exit 3"
  expect_status 0
  expect_stdout '[1]<stdout>:by itself'
  expect_stderr ''
}

# The chief ends when all others have signalled that they are ready.
chief_of() {
  echo "[ \$DTRAIN_ROLE != chief ] || { until [ \"\$(ls ready.* 2>/dev/null | wc -l)\" = $1 ]; do sleep 0.02; done; exit 0; }"
}

test_servers_are_ended_when_the_chief_is_done_and_have_completed() {
  run_dtrain run --role chief=1 --role ps=2 --role evaluator=1 --grace 3 --report report.json -- sh -c "$(chief_of 3)
    case \$DTRAIN_ROLE\$DTRAIN_TASK_INDEX in
      ps0) trap 'echo told; exit 9' TERM ;;
      evaluator0) trap '' TERM ;;
    esac
    : >ready.\$DTRAIN_ROLE\$DTRAIN_TASK_INDEX
    while :; do sleep 0.05; done 2>/dev/null"
  expect_status 0
  expect_stdout '[ps:0]<stdout>:told'
  expect_stderr ''
  expect grep -q '"failed_tasks": 0' report.json
  expect test "$(grep -c '"completed": true' report.json)" = 4
  expect test "$(grep -c '"signal": "SIGKILL"' report.json)" = 1
  expect_no_processes
}

test_verbose_logs_the_tasks_that_have_completed() {
  run_dtrain run --verbose --role chief=1 --role ps=1 -- sh -c "$(chief_of 1); : >ready.ps; exec sleep 60"
  expect_status 0
  expect_stderr_contains 'dtrain: chief:0 ended: exit status 0'
  expect_stderr_contains 'dtrain: ps:0 ended: killed by SIGTERM; it has completed'
}

test_a_server_that_fails_before_the_chief_is_done_fails_the_job() {
  run_dtrain run --role chief=1 --role ps=1 --report report.json -- \
    sh -c '[ $DTRAIN_ROLE = chief ] || { echo no memory >&2; exit 4; }; sleep 60'
  expect_status 4
  expect_stderr_contains 'dtrain: ps:0 (host localhost, pid '
  expect_stderr_contains 'failed: exit status 4'
  expect_stderr_contains '[ps:0]<stderr>:no memory'
  expect_not grep -q '"completed": true' report.json
  expect_no_processes
}

test_an_evaluator_that_fails_is_a_warning() {
  start_dtrain run --role chief=1 --role evaluator=1 -- \
    sh -c '[ $DTRAIN_ROLE = chief ] || exit 4; until [ -e told ]; do sleep 0.02; done; echo trained'
  wait_for stderr_has 'exit status 4; the training goes on without it'
  touch told
  finish
  expect_status 0
  expect_stdout '[0]<stdout>:trained'
  expect_stderr_contains 'dtrain: warning: evaluator:0 (host localhost, pid '
}

# Each ps writes as much as a pipe holds. Two end by themselves when the worker does; dtrain ends the others.
test_all_output_from_before_the_end_appears() {
  run_dtrain run --role worker=1 --role ps=4 --no-tag -- sh -c '
    if [ $DTRAIN_ROLE = worker ]; then
      until [ "$(ls ready.* 2>/dev/null | wc -l)" = 4 ]; do sleep 0.01; done
      exit 0
    fi
    yes 0123456789abcde | head -n 4000
    : >ready.$DTRAIN_TASK_INDEX
    [ $DTRAIN_TASK_INDEX -lt 2 ] || sleep 60'
  expect_status 0
  expect_stderr ''
  expect test "$(grep -c -x 0123456789abcde "$out/stdout")" = 16000
}

# A process that a task leaves behind gets the whole grace with --clean all, and 2 s otherwise.
test_clean_all_gives_leftover_processes_the_grace_too() {
  run_dtrain run -np 1 --clean all --grace 20 -- \
    sh -c 'sh -c "trap : TERM; : >set; sleep 3.5; sleep 0.5; : >saved" >/dev/null 2>&1 &
           while [ ! -e set ]; do sleep 0.02; done'
  expect_status 0
  expect test -e saved
  expect_no_processes
}

test_a_failure_of_a_task_that_does_not_decide_fails_the_job_too() {
  run_dtrain run -np 2 --success worker-0 sh -c '[ $RANK = 0 ] || exit 5; sleep 60'
  expect_status 5
  expect_stderr_contains 'rank 1 (host localhost'
}

test_a_success_rule_without_a_deciding_task_is_refused() {
  run_dtrain run -np 1 --success role:cheif touch started
  expect_status 2
  expect_stderr 'dtrain: --success role:cheif: this job has no such task; its roles: worker'
  run_dtrain run -np 1 --success chief touch started
  expect_status 2
  expect_stderr 'dtrain: --success chief: this job has no such task; its roles: worker'
  expect_not test -e started
}

test_the_ends_of_preempted_training_are_named() {
  run_dtrain run -np 1 python3 -c 'exit(42)'
  expect_status 42
  expect_stderr_contains 'dtrain: PreemptionCheckpointHandler exits with it'
  run_dtrain run -np 1 sh -c 'exit 42'
  expect_stderr_lacks Preemption
  run_dtrain run -np 1 sh -c 'kill -TERM $$'
  expect_status 143
  expect_stderr_contains 'killed by SIGTERM (SIGTERM not sent by dtrain'
}

# Writes an error file in the form of PyTorch's @record.
record='import json, os, sys, time, traceback
def record(e):
    told = {"message": f"{type(e).__name__}: {e}",
            "extraInfo": {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}}
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        json.dump({"message": told}, file)
'

test_the_error_that_a_script_recorded_is_in_the_report() {
  cat >train.py <<END
$record
try:
    if os.environ["RANK"] == "1":
        raise ValueError("no such batch")
    time.sleep(60)
except ValueError as e:
    record(e)
    sys.exit(1)
END
  run_dtrain run -np 2 --report report.json python3 train.py
  expect_status 1
  expect_stderr_contains 'rank 1 (host localhost'
  expect_stderr_contains "ValueError: no such batch ($PWD/train.py:"
  expect grep -q '"message": "ValueError: no such batch"' report.json
  expect grep -q '"frame": ".*train.py:[0-9]*"' report.json
}

test_a_traceback_shows_the_cause_too() {
  cat >train.py <<'END'
import os, sys, time
if os.environ["RANK"] == "1":
    raise ValueError("no such batch")
time.sleep(60)
END
  run_dtrain run -np 2 --report report.json python3 train.py
  expect_status 1
  expect_stderr_contains "dtrain:   ValueError: no such batch ($PWD/train.py:3)"
  expect grep -q '"message": "ValueError: no such batch"' report.json
  run_dtrain run -np 2 --merge-stderr python3 train.py
  expect_status 1
  expect_stderr_contains "dtrain:   ValueError: no such batch ($PWD/train.py:3)"
  # An error that the script has handled is not the cause of another end.
  run_dtrain run -np 1 python3 -c 'import os, traceback
try: raise ValueError("dealt with")
except ValueError: traceback.print_exc()
os._exit(7)'
  expect_status 7
  expect_stderr_lacks 'dtrain:   ValueError: dealt with ('
}

# With Horovod, the other ranks see the loss of the rank that raised an error before its process has ended.
test_the_rank_whose_traceback_is_the_oldest_is_the_cause() {
  cat >train.py <<'END'
import atexit, os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.environ["RANK"] == "1":
    atexit.register(time.sleep, 0.1)
    atexit.register(lambda: open("raised", "w").close())
    raise ValueError("the cause")
while not os.path.exists("raised"):
    time.sleep(0.02)
raise ConnectionError("peer gone")
END
  run_dtrain run -np 2 python3 train.py
  expect_status 1
  expect_stderr_contains 'rank 1 (host localhost'
  expect_stderr_contains 'dtrain:   ValueError: the cause'
  expect_stderr_lacks 'dtrain:   ConnectionError'
  # This holds even if the rank gets a TERM while it ends.
  rm raised
  sed -i /SIGTERM/d train.py
  run_dtrain run -np 2 python3 train.py
  expect_status 1
  expect_stderr_contains 'rank 1 (host localhost'
  expect_stderr_contains 'dtrain:   ValueError: the cause'
}

# Rank 0 ends first, because of an error of rank 1, whose process takes longer to end.
test_the_rank_whose_error_is_the_oldest_is_the_cause() {
  cat >train.py <<END
$record
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    if os.environ["RANK"] == "1":
        raise ValueError("the cause")
    while not os.path.exists("raised"):
        time.sleep(0.02)
    time.sleep(0.05)
    raise ConnectionError("peer gone")
except Exception as e:
    record(e)
    open("raised", "w").close()
    if os.environ["RANK"] == "1":
        time.sleep(0.15)
    sys.exit(1)
END
  run_dtrain run -np 2 python3 train.py
  expect_status 1
  expect_stderr_contains 'rank 1 (host localhost'
  expect_stderr_contains 'ValueError: the cause'
  expect_stderr_lacks 'peer gone'
}

test_error_files_are_private_and_are_removed_with_the_job() {
  # shellcheck disable=SC2016
  run_dtrain run -np 2 sh -c 'dirname "$TORCHELASTIC_ERROR_FILE" >folder.$RANK; stat -c %a "$(cat folder.$RANK)"'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:700' '[1]<stdout>:700'
  expect_not test -e "$(cat folder.0)"
  run_dtrain run -np 1 -x TORCHELASTIC_ERROR_FILE=mine sh -c 'echo $TORCHELASTIC_ERROR_FILE'
  expect_stdout '[0]<stdout>:mine'
}

test_the_error_files_of_a_killed_agent_are_removed_too() {
  # shellcheck disable=SC2016
  start_dtrain run -np 1 sh -c 'dirname "$TORCHELASTIC_ERROR_FILE" >folder; echo $PPID; sleep 60'
  wait_for stdout_has '[0]<stdout>:'
  kill -KILL "$(sed 's/.*://' "$out/stdout")"
  finish
  expect_status 3
  expect_not test -e "$(cat folder)"
  expect_no_processes
}

test_the_next_job_removes_the_error_files_of_an_agent_and_a_launcher_that_were_killed() {
  # shellcheck disable=SC2016
  start_dtrain run -np 1 sh -c 'dirname "$TORCHELASTIC_ERROR_FILE" >folder; echo $PPID; exec sleep 60'
  wait_for stdout_has '[0]<stdout>:'
  agent=$(sed 's/.*://' "$out/stdout")
  kill -STOP "$agent"
  expect test -d "$(cat folder)"
  run_dtrain run -np 1 true
  expect test -d "$(cat folder)"
  kill -KILL "$pid" "$agent"
  expect_no_processes
  run_dtrain run -np 1 true
  expect_status 0
  expect_not test -e "$(cat folder)"
}

test_a_time_limit_names_the_ranks_that_still_ran() {
  # shellcheck disable=SC2016
  run_dtrain run -np 3 --timeout 2s --no-tag sh -c '[ $RANK = 1 ] && exit; [ $RANK = 2 ] || exec sleep 60; while echo x; do sleep 0.1; done'
  expect_status 124
  grep -qE '^dtrain: rank 0 on localhost: silent for [12] s, (in [a-z_0-9]+|sleeping)$' "$out/stderr" || fail 'no line for rank 0'
  grep -qE '^dtrain: rank 2 on localhost: still writing(, (in [a-z_0-9]+|sleeping|running))?$' "$out/stderr" || fail 'no line for rank 2'
  expect_stderr_lacks 'rank 1'
  expect test "$(head -n 1 "$out/stderr")" = 'dtrain: time limit of 2s reached'
}

test_a_time_limit_names_the_tasks_without_rank_that_still_ran() {
  # shellcheck disable=SC2016
  run_dtrain run --role ps=1,worker=1,evaluator=1 --timeout 10s --grace 20s --report report.json --no-tag \
    sh -c 'trap "touch warned.$DTRAIN_ROLE; exit" TERM; while :; do sleep 0.1; done'
  expect_status 124
  expect_stderr_contains 'dtrain: rank 0 on localhost: silent for '
  expect_stderr_contains 'dtrain: ps:0 on localhost: silent for '
  expect_stderr_contains 'dtrain: evaluator:0 on localhost: silent for '
  expect_stderr_contains 'dtrain: time limit of 10s reached'
  expect test -e warned.worker -a -e warned.ps -a -e warned.evaluator
  expect grep -q '"exit_status": *124' report.json
  expect_no_processes
}

test_stacks_are_written_before_a_time_limit_or_a_signal_ends_the_job() {
  local stalling=${DTRAIN%/*}/tests/programs/stalling_worker
  run_dtrain run -np 2 --dump-stacks --timeout 3s --no-tag "$stalling" 1 sleep release
  expect_status 124
  expect_soon
  expect_stderr_contains ' is in all_reduce "gradients"'
  expect_stderr_contains ' has returned from barrier "start"'
  expect_stderr_contains '(dtrain_all_reduce+'
  [[ $(grep -c '^libdtrain: stack of thread ' "$out/stderr") -eq 2 ]] || fail 'not one stack for each rank'
  start_dtrain run -np 1 --dump-stacks sh -c 'trap "echo stack >&2" QUIT; echo ready; while :; do sleep 0.1; done'
  wait_for stdout_has ready
  signal INT
  finish
  expect_status 130
  expect_stderr_contains '[0]<stderr>:stack'
  expect_no_processes
}

# A program without a handler would be killed by SIGQUIT, and leave a core.
test_a_program_that_does_not_catch_SIGQUIT_gets_none() {
  # shellcheck disable=SC2016
  run_dtrain run -np 2 --dump-stacks --timeout 3s --no-tag sh -c '
    [ $RANK = 0 ] || trap "echo stack" QUIT
    trap "echo term \$RANK; exit 7" TERM
    sleep 60 & while ! wait; do :; done'
  expect_status 124
  expect_stdout_lines stack 'term 0' 'term 1'
  run_dtrain run -np 1 --timeout 1s --no-tag sh -c 'trap "echo stack" QUIT; sleep 60'
  expect_status 124
  expect_stdout ''
}

test_stacks_of_Python_are_written_by_a_handler_of_the_program_or_of_its_sitecustomize() {
  mkdir site
  echo 'import faulthandler, signal; faulthandler.register(signal.SIGQUIT)' >site/sitecustomize.py
  echo 'import time; print("ready", flush=True); time.sleep(60)' >train.py
  run_dtrain run -np 1 --dump-stacks --timeout 5s -x PYTHONPATH="$PWD/site" python3 train.py
  expect_status 124
  expect_stderr_contains 'train.py", line 1 in <module>'
  run_dtrain run -np 1 --dump-stacks --timeout 5s -x PYTHONFAULTHANDLER=1 python3 train.py
  expect_status 124
  expect_stderr_lacks 'line 1 in <module>'
}

run_tests "$@"
