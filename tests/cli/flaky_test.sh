#!/usr/bin/env bash
# Jobs under flaky_io, which disturbs input and output. The other test files run under it a second time, too,
# unless flaky_exclusions.txt has them.
. "$(dirname "$0")/lib.sh"

FLAKY_IO=$(realpath "${FLAKY_IO:-$(dirname "$DTRAIN")/tests/programs/flaky_io.so}")

test_launcher_and_agent_have_every_second_call_disturbed() { # F28
  run env LD_PRELOAD="$FLAKY_IO" FLAKY_IO_COUNT="$PWD/counts" "$DTRAIN" run -np 4 --no-tag seq 1000
  expect_status 0
  [[ $(sort -n "$out/stdout" | uniq -c | awk '$1 == 4' | wc -l) -eq 1000 ]] || fail 'lines were lost'
  [[ $(wc -l <counts) -eq 2 ]] || fail "expected counts of launcher and agent: $(cat counts)"
  awk '$1 < 5 { exit 1 }' counts || fail "hardly anything was disturbed: $(cat counts)"
}

test_a_job_continues_when_nobody_reads_its_stdout() { # F28 F13
  run env LD_PRELOAD="$FLAKY_IO" FLAKY_IO_EPIPE=1 "$DTRAIN" run -np 2 --output-dir logs seq 2000
  expect_status 0
  expect_stderr_contains 'standard output cannot be written (Broken pipe)'
  for rank in 0 1; do
    cmp "logs/rank.$rank/stdout" <(seq 2000) || fail "rank $rank lost output"
  done
  expect_no_processes
}

test_a_job_continues_without_any_console() { # F28 F13
  run env LD_PRELOAD="$FLAKY_IO" FLAKY_IO_EPIPE=12 "$DTRAIN" run -np 2 --on-failure continue --output-dir logs \
    sh -c 'seq 2000; seq 2000 >&2; test $RANK = 0 || exit 3'
  expect_status 3
  for file in logs/rank.*/std*; do
    cmp "$file" <(seq 2000) || fail "$file lost output"
  done
  expect_no_processes
}

run_tests "$@"
