#!/usr/bin/env bash
# The form of the workers' lines on the console, and the files of their output.
. "$(dirname "$0")/lib.sh"

test_merged_streams_keep_the_order_in_which_a_worker_wrote() {
  cat >words <<'END'
for i in $(seq 1 50); do echo "out $i"; echo "err $i" >&2; done
END
  run_dtrain run -np 2 --merge-stderr --output-dir logs sh words
  expect_status 0
  expect_stderr ''
  for rank in 0 1; do
    grep -F "[$rank]<stdout>:" "$out/stdout" | sed 's/^[^:]*://' | cmp - <(sh words 2>&1) ||
      fail "the lines of rank $rank are in another order"
    cmp "logs/rank.$rank/stdout" <(sh words 2>&1) || fail "the file of rank $rank differs"
    expect_not test -e "logs/rank.$rank/stderr"
  done
}

test_the_failure_of_a_merged_worker_shows_its_last_lines() {
  run_dtrain run -np 1 --merge-stderr sh -c 'echo said; echo why >&2; exit 5'
  expect_status 5
  expect_stdout_lines '[0]<stdout>:said' '[0]<stdout>:why'
  expect_stderr_contains 'last lines of its output:'
  expect_stderr_contains 'dtrain:   why'
}

test_output_filename_is_horovodruns_name_of_the_folder() {
  run_dtrain run -np 2 --output-filename logs sh -c 'echo line'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:line' '[1]<stdout>:line'
  expect_file logs/rank.0/stdout line
  expect_file logs/rank.1/stdout line
  expect test -e logs/rank.1/stderr
}

test_timestamps_are_those_of_horovodrun() {
  day='(Sun|Mon|Tue|Wed|Thu|Fri|Sat) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ 1-3][0-9]'
  for option in --timestamp -prefix-timestamp --prefix-output-with-timestamp; do
    run_dtrain run -np 1 "$option" --output-dir logs sh -c 'echo one; echo two >&2'
    expect_status 0
    expect grep -qE "^$day [0-9:]{8} [0-9]{4}\[0\]<stdout>:one$" "$out/stdout"
    expect grep -qE "^$day [0-9:]{8} [0-9]{4}\[0\]<stderr>:two$" "$out/stderr"
    expect_file logs/rank.0/stdout one
  done
  local stamped='^(... ... .. ..:..):.. .... \1$'
  # A minute may end between the program's date and dtrain's.
  for _ in 1 2; do
    TZ=UTC run_dtrain run -np 1 --timestamp --no-tag date -u '+%a %b %e %H:%M'
    if grep -qE "$stamped" "$out/stdout"; then break; fi
  done
  expect grep -qE "$stamped" "$out/stdout"
}

test_colours_are_for_terminals_unless_asked_for() {
  worker=(sh -c 'echo line; exit 3')
  coloured=$'\e[0;36m[0]<stdout>:\e[0mline'
  run_dtrain run -np 1 "${worker[@]}"
  expect_stdout '[0]<stdout>:line'
  run_dtrain run -np 1 --color always "${worker[@]}"
  expect_stdout "$coloured"
  expect_stderr_contains $'\e[0;31mdtrain:\e[0m rank 0'
  CLICOLOR_FORCE=1 run_dtrain run -np 1 "${worker[@]}"
  expect_stdout "$coloured"
  CLICOLOR_FORCE=1 run_dtrain run -np 1 --color never "${worker[@]}"
  expect_stdout '[0]<stdout>:line'
  CLICOLOR_FORCE=1 NO_COLOR=1 run_dtrain run -np 1 "${worker[@]}"
  expect_stdout '[0]<stdout>:line'
  NO_COLOR=1 run_dtrain run -np 1 --color always "${worker[@]}"
  expect_stdout "$coloured"
  DTRAIN_OPT_COLOR=always run_dtrain run -np 1 --no-tag "${worker[@]}"
  expect_stdout 'line'
}

test_an_error_before_the_job_is_red_too() {
  run_dtrain run --color always -np 0 true
  expect_status 2
  expect_stderr_contains $'\e[0;31mdtrain:\e[0m -np: expected'
  run_dtrain run --color sometimes -np 1 true
  expect_status 2
  expect_stderr 'dtrain: --color: expected auto, always or never, got "sometimes"'
}

test_quiet_hides_the_output_of_workers_and_verbose_shows_the_log_of_dtrain() {
  run_dtrain run -np 1 --quiet --verbose sh -c 'echo line; echo line >&2'
  expect_status 0
  expect_stdout ''
  expect_stderr_lacks 'line'
  expect_stderr_contains 'worker:0 started: pid'
  run_dtrain run -np 1 --quiet sh -c 'echo why >&2; exit 4'
  expect_status 4
  expect_stderr_contains 'rank 0 (host'
  expect_stderr_contains 'dtrain:   why'
}

run_tests "$@"
