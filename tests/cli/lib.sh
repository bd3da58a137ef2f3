# shellcheck shell=bash
# The library for tests of the binary from outside. A test file sources this, has functions
# test_<a_sentence_of_the_specification>, and ends with `run_tests "$@"`:
#
#   . "$(dirname "$0")/lib.sh"
#   test_a_job_ends_with_the_status_of_its_first_failure() {
#     run_dtrain run -np 2 -- sh -c 'exit 3'
#     expect_status 3
#     expect_stderr_contains 'exit status 3'
#     expect_no_processes
#   }
#   run_tests "$@"
#
# Each function runs in its own subshell and in its own temporary folder (the working directory), with an
# empty stdin and without the user's configuration. A marker in the environment finds the processes that it
# leaves behind, which are then killed. The first expectation that does not hold ends the function.
# `tests/cli/x_test.sh word` runs only the functions whose names contain `word`.
#
#   run CMD…               runs it to its end, for at most $run_timeout_s; sets $status and $elapsed_ms,
#   run_dtrain ARG…        and writes the files `stdout` and `stderr` in $out
#   start CMD…             starts it in the background, with default signal actions; sets $pid
#   start_dtrain ARG…
#   signal NAME            sends it to $pid; `finish` waits for $pid, and sets $status and $elapsed_ms
#                          (since the start, or since the last signal)
#   wait_for CMD…          until the command succeeds; fails after $run_timeout_s
#   stdout_has TEXT        true or false, for wait_for; also stderr_has
#   expect_status N, expect CMD…, expect_not CMD…
#   expect_soon [MS]       $elapsed_ms is far below the minute that its workers would run; `make test-long`, on a
#                          machine without other work, allows MS
#   expect_stdout TEXT     equal, except for the last newline; also expect_stderr, expect_file FILE TEXT
#   expect_stdout_contains TEXT, expect_stdout_lacks TEXT; the same for stderr
#   expect_stdout_lines LINE…  these lines in any order (ranks race) and no others; also stderr
#   expect_no_processes    no process of this test is left; waits for those that are ending
#   states_are STATE PID…  true or false, for wait_for; STATE is T for stopped, [RSD] for not
#   expect_steady_end      the job of three steady workers ends with success
#   long_or SHORT LONG     prints LONG in `make test-long`, else SHORT
#   cgroup_folder          prints the folder in which an agent makes its cgroups; fails where it cannot
#   skip REASON            ends the function; CTest shows the file as skipped when all were
set -u -o pipefail

DTRAIN=${DTRAIN:-$(dirname "${BASH_SOURCE[0]}")/../../build/release/dtrain}
DTRAIN=$(realpath "$DTRAIN")
run_timeout_s=60
skip_status=77
export LC_ALL=C.UTF-8

fail() {
  printf '  %s\n' "$@"
  if [[ -n ${last_command-} ]]; then
    printf '  command: %s\n  status: %s after %s ms\n' "$last_command" "${status-none yet}" "${elapsed_ms-?}"
    show stdout
    show stderr
  fi
  exit 1
}

show() {
  printf '  %s:\n' "$1"
  head -c 4000 "$out/$1" | head -n 40 | sed 's/^/    | /'
  # Long output is shown without its middle: frameworks print much before dtrain's own messages.
  if (($(wc -c <"$out/$1") > 4000 || $(wc -l <"$out/$1") > 40)); then
    printf '    …\n'
    grep -a '^dtrain: ' "$out/$1" | head -n 20 | sed 's/^/    | /'
  fi
}

now_ms() {
  local now=${EPOCHREALTIME/[.,]/}
  echo $((now / 1000))
}

run() {
  local begin
  begin=$(now_ms)
  last_command="$*"
  # --foreground: the command stays in our process group, like a typed command.
  status=0
  timeout --foreground -k 5 "$run_timeout_s" "$@" >"$out/stdout" 2>"$out/stderr" || status=$?
  elapsed_ms=$(($(now_ms) - begin))
}

start() {
  last_command="$*"
  unset status elapsed_ms
  : >"$out/stdout"
  : >"$out/stderr"
  # A script's background commands ignore INT and QUIT; those of an interactive shell do not.
  env --default-signal=INT,QUIT "$@" >"$out/stdout" 2>"$out/stderr" &
  pid=$!
  since_ms=$(now_ms)
}

run_dtrain() { run "$DTRAIN" "$@"; }
start_dtrain() { start "$DTRAIN" "$@"; }

signal() {
  since_ms=$(now_ms)
  kill -s "$1" "$pid" || fail "no process $pid for the signal $1"
}

finish() {
  local limit=$((since_ms + run_timeout_s * 1000))
  while kill -0 "$pid" 2>/dev/null; do
    if (($(now_ms) > limit)); then
      fail "still running after $run_timeout_s s"
    fi
    sleep 0.01
  done
  status=0
  wait "$pid" || status=$?
  elapsed_ms=$(($(now_ms) - since_ms))
}

# The verdict of no test depends on a short time limit: a machine may be busy. These limits end a test that fails.
wait_for() {
  local limit=$(($(now_ms) + run_timeout_s * 1000))
  until "$@"; do
    if (($(now_ms) > limit)); then
      fail "not within $run_timeout_s s: $*"
    fi
    sleep 0.02
  done
}

has() { grep -qF -- "$2" "$out/$1"; }
stdout_has() { has stdout "$1"; }
stderr_has() { has stderr "$1"; }

expect() { "$@" || fail "expected to succeed: $*"; }
expect_not() { ! "$@" || fail "expected to fail: $*"; }

expect_status() { [[ $status -eq $1 ]] || fail "expected the status $1, not $status"; }
expect_soon() {
  local limit
  limit=$(long_or 40000 "${1-40000}")
  ((elapsed_ms <= limit)) || fail "expected within $limit ms, took $elapsed_ms ms"
}

expect_file() {
  local expected=$2
  if ! diff <(printf '%s\n' "$expected") <(cat "$1" && printf '\n') >/dev/null &&
    ! diff <(printf '%s\n' "$expected") "$1" >"$out/difference"; then
    fail "expected in $1 (<), found (>):" "$(head -c 4000 "$out/difference")"
  fi
}
expect_stdout() { expect_file "$out/stdout" "$1"; }
expect_stderr() { expect_file "$out/stderr" "$1"; }

expect_contains() { has "$1" "$2" || fail "expected in $1: $2"; }
expect_lacks() { ! has "$1" "$2" || fail "not expected in $1: $2"; }
expect_stdout_contains() { expect_contains stdout "$1"; }
expect_stderr_contains() { expect_contains stderr "$1"; }
expect_stdout_lacks() { expect_lacks stdout "$1"; }
expect_stderr_lacks() { expect_lacks stderr "$1"; }

expect_lines() {
  local stream=$1
  shift
  if ! diff <(printf '%s\n' "$@" | sort) <(sort "$out/$stream") >"$out/difference"; then
    fail "expected lines in $stream (<), found (>):" "$(head -c 4000 "$out/difference")"
  fi
}
expect_stdout_lines() { expect_lines stdout "$@"; }
expect_stderr_lines() { expect_lines stderr "$@"; }

# This shell is not in the list: /proc has the environment from the start of a process.
marked_pids() (
  marker=TEST_MARKER=$TEST_MARKER
  unset TEST_MARKER
  grep -lsF "$marker" /proc/[0-9]*/environ | grep -o '[0-9]\+' || true
)

expect_no_processes() {
  local limit=$(($(now_ms) + 30000)) left
  while left=$(marked_pids) && [[ -n $left ]]; do
    if (($(now_ms) > limit)); then
      fail "processes left behind:" "$(ps -o pid,ppid,stat,args -p "${left//$'\n'/,}")"
    fi
    sleep 0.02
  done
}

states_are() {
  local states=$1 process
  shift
  for process; do
    [[ $(ps -o stat= -p "$process" 2>/dev/null) =~ ^$states ]] || return 1
  done
}

# Ends the job of three steady workers (tests/programs/steady_worker.cc), and expects success.
expect_steady_end() {
  touch stop
  since_ms=$(now_ms)
  finish
  expect_status 0
  [[ $(grep -c 'all sums were right' "$out/stdout") -eq 3 ]] || fail 'not all three came to the end'
  expect_stderr ''
  expect_no_processes
}

long_or() { if [[ ${DTRAIN_TEST_LONG-} == 1 ]]; then echo "$2"; else echo "$1"; fi; }

cgroup_folder() {
  local mount folder
  for mount in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [[ $(stat -fc %T "$mount" 2>/dev/null) == cgroup2fs ]] || continue
    folder=$mount$(sed -n 's/^0:://p' /proc/self/cgroup)
    [[ -e $folder/cgroup.procs ]] || return 1
    mkdir "$folder/dtrain-test-$$" 2>/dev/null || return 1
    rmdir "$folder/dtrain-test-$$"
    echo "${folder%/}"
    return 0
  done
  return 1
}

skip() {
  echo "skipped: $*"
  exit $skip_status
}

end_marked_processes() {
  local left
  left=$(marked_pids)
  # shellcheck disable=SC2086  # one word a pid
  [[ -z $left ]] || kill -KILL $left 2>/dev/null || true
}

# Runs one function in its own folder. The caller prints the function's output when it fails.
run_one() (
  for name in ${!DTRAIN_@}; do
    [[ $name == DTRAIN_TEST_LONG ]] || unset "$name"
  done
  # Or in a pod of several nodes, for whose job they are not.
  for name in ${!PET_@}; do unset "$name"; done
  unset NO_COLOR CLICOLOR CLICOLOR_FORCE CI
  # The tests may run in a scheduler's job, whose hosts they are not to use.
  unset SLURM_JOB_ID SLURM_STEP_NUM_TASKS LSB_JOBID PBS_JOBID PE_HOSTFILE KUBERNETES_SERVICE_HOST K_MPI_JOB_ROLE
  export TEST_MARKER=$2 HOME=$1/home XDG_CONFIG_HOME=$1/home/.config XDG_STATE_HOME=$1/home/.local/state
  out=$1/out
  mkdir -p "$out" "$1/home" "$1/cwd"
  cd "$1/cwd" || exit 1
  exec </dev/null
  trap end_marked_processes EXIT
  set -e
  "$3"
)

run_tests() {
  local root names name sentence log status passed=0 failed=0 skipped=0
  root=$(mktemp -d "${TMPDIR:-/tmp}/dtrain-test.XXXXXX")
  # shellcheck disable=SC2064  # expands now
  trap "chmod -R u+rwx '$root'; rm -rf '$root'" EXIT
  names=$(grep -o '^test_[a-zA-Z0-9_]*' "$0" | grep -e "${1-}")
  for name in $names; do
    sentence=${name#test_}
    sentence=${sentence//_/ }
    log=$root/$name.log
    run_one "$root/$name" "$$-$name-$RANDOM$RANDOM" "$name" >"$log" 2>&1
    status=$?
    if ((status == 0)); then
      passed=$((passed + 1))
      echo "ok: $sentence"
    elif ((status == skip_status)); then
      skipped=$((skipped + 1))
      echo "skipped: $sentence: $(sed -n 's/^skipped: //p' "$log")"
    else
      failed=$((failed + 1))
      echo "FAILED: $sentence"
      cat "$log"
    fi
  done
  echo "$passed passed, $failed failed, $skipped skipped"
  if ((failed > 0)); then exit 1; fi
  if ((passed == 0 && skipped > 0)); then exit $skip_status; fi
  if ((passed == 0)); then
    echo "no such test"
    exit 1
  fi
}
