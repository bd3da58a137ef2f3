#!/usr/bin/env bash
# The output of workers: its destinations, and its bytes on the way.
. "$(dirname "$0")/lib.sh"

printing_worker=$(dirname "$DTRAIN")/tests/programs/printing_worker

test_stdout_and_stderr_keep_their_streams() {
  run_dtrain run -np 1 sh -c 'echo out; echo err >&2'
  expect_stdout '[0]<stdout>:out'
  expect_stderr '[0]<stderr>:err'
}

test_the_tag_starts_anew_after_a_carriage_return() {
  run_dtrain run -np 1 printf '10%%\r20%%\r\nend'
  expect_stdout $'[0]<stdout>:10%\r[0]<stdout>:20%\r\n[0]<stdout>:end'
}

test_printf_is_seen_line_by_line_also_of_a_program_that_aborts() {
  run_dtrain run -np 2 --output-dir logs "$printing_worker"
  expect_status 134
  expect test "$(cat logs/rank.?/stdout | sort -u)" = $'step 1\nstep 2'
  run_dtrain run -np 1 --env-set tf -x LD_PRELOAD= sh -c "$printing_worker"
  expect_stdout_lines '[0]<stdout>:step 1' '[0]<stdout>:step 2'
  run_dtrain run -np 1 --no-line-buffer "$printing_worker"
  expect_stdout ''
}

test_only_the_stdout_of_a_task_is_line_buffered() {
  run_dtrain run -np 1 --no-tag sh -c "$printing_worker >file; wc -c <file"
  expect_stdout 0
  run_dtrain run -np 1 --no-tag "$DTRAIN" run -np 1 --no-line-buffer --no-tag sh -c 'echo "<$LD_PRELOAD>"'
  expect_stdout '<>'
  run_dtrain run -np 1 --no-tag sh -c 'echo "<$LD_PRELOAD>"; : unshare' unshare
  expect_stdout '<>'
}

test_bytes_of_any_kind_pass_line_buffered() {
  head -c 300000 /dev/urandom >bytes
  run_dtrain run -np 1 --no-tag --output-dir logs sort -z bytes
  sort -z bytes | cmp - logs/rank.0/stdout || fail 'the file differs'
  cmp logs/rank.0/stdout "$out/stdout" || fail 'the console differs'
}

test_quiet_keeps_workers_off_the_console_but_not_their_failure() {
  run_dtrain run -np 1 --quiet sh -c 'echo out; echo err >&2; exit 3'
  expect_status 3
  expect_stdout ''
  expect_stderr_lacks '<stderr>'
  expect_stderr_contains 'failed: exit status 3'
}

test_output_dir_keeps_bytes_as_they_are_in_folders_of_equal_width() {
  run_dtrain run -np 11 --output-dir logs sh -c 'printf "no newline $RANK"; echo "err $RANK" >&2'
  expect_status 0
  expect test -f logs/rank.10/stdout
  [[ $(cat logs/rank.03/stdout) == 'no newline 3' ]] || fail 'stdout differs'
  [[ $(cat logs/rank.10/stderr) == 'err 10' ]] || fail 'stderr differs'
  [[ $(stat -c %a logs/rank.00/stdout) == 600 ]] || fail 'others may read it'
}

test_a_folder_with_more_ranks_of_an_earlier_job_keeps_them_apart() {
  run_dtrain run -np 3 --output-dir logs true
  expect_status 0
  expect_stderr ''
  run_dtrain run -np 1 --output-dir logs true
  expect_status 0
  expect_stderr 'dtrain: warning: logs has the output of an earlier job; renamed: rank.1, rank.2 (to rank.1.old, …)'
  expect test "$(cd logs && echo *)" = 'rank.0 rank.1.old rank.2.old'
}

test_results_go_to_files_and_not_to_the_console() {
  run_dtrain run --role worker=2 --role evaluator=1 --result-dir results --no-tag --timestamp sh -c '
    echo shown; head -c 1000000 /dev/zero >/dev/fd/$DTRAIN_RESULT_FD; printf " of $RANK" >/dev/fd/$DTRAIN_RESULT_FD'
  expect_status 0
  expect test "$(grep -c shown "$out/stdout")" = 3
  expect test "$(wc -c <"$out/stdout")" -lt 1000
  expect test "$(tr -d '\0' <results/rank.1/result)" = ' of 1'
  expect test "$(wc -c <results/rank.1/result)" = 1000005
  expect test -f results/evaluator.0/result
  expect_not test -e results/rank.1/stdout
  run_dtrain run -np 1 --result-dir results sh -c 'test -z "$(ls -A /proc/self/fd | grep -x $DTRAIN_RESULT_FD)"'
  expect_status 1
  expect_stderr_contains 'renamed: evaluator.0, rank.1'
  expect_file results/rank.0/result ''
}

test_the_result_of_an_attempt_that_failed_is_gone() {
  run_dtrain run -np 1 --restart-role worker=1 --result-dir results sh -c '
    head -c 600000 /dev/zero >/dev/fd/$DTRAIN_RESULT_FD
    [ $DTRAIN_ATTEMPT = 2 ] || exit 1
    sleep 0'
  expect_status 0
  expect test "$(wc -c <results/rank.0/result)" = 600000
}

test_no_result_is_wanted_without_a_folder_for_it() {
  DTRAIN_RESULT_FD=1 run_dtrain run -np 1 --no-tag sh -c 'echo "<$DTRAIN_RESULT_FD>"'
  expect_stdout '<>'
}

test_files_of_a_job_can_have_its_id_in_their_names() {
  run_dtrain run -np 1 --report 'art/{job_id}/report.json' --output-dir 'art/{job_id}/logs' --no-tag sh -c 'echo $DTRAIN_JOB_ID'
  expect_status 0
  expect_file "art/$(cat "$out/stdout")/logs/rank.0/stdout" "$(cat "$out/stdout")"
  grep -q "\"job\": \"$(cat "$out/stdout")\"" "art/$(cat "$out/stdout")/report.json" || fail 'another job id'
  run_dtrain run -np 1 --no-macros --output-dir 'plain/{job_id}' true
  expect test -d 'plain/{job_id}/rank.0'
}

test_a_folder_that_cannot_be_made_stops_the_job_before_it_starts() {
  touch file
  run_dtrain run -np 1 --output-dir file/logs touch started
  expect_status 2
  expect_stderr_contains '--output-dir: cannot make'
  expect_not test -e started
}

test_a_fifo_among_the_output_files_stops_the_job_before_it_starts() {
  mkdir -p logs/rank.0
  mkfifo logs/rank.0/stdout
  run_timeout_s=20
  run_dtrain run -np 1 --output-dir logs touch started
  expect_status 2
  expect_stderr 'dtrain: --output-dir: cannot write logs/rank.0/stdout: it is no regular file; remove it, or give another folder'
  expect_not test -e started
}

test_what_another_user_has_put_into_the_output_folder_is_not_written_to() {
  [[ $(id -u) -eq 0 ]] || skip 'only root can make files of another user'
  mkdir -p logs/rank.0
  echo keep >logs/rank.0/stdout
  chmod 1777 logs
  chown -R 65534 logs/rank.0 || skip 'no other user here'
  run_dtrain run -np 1 --output-dir logs touch started
  expect_status 2
  expect_stderr_contains 'logs/rank.0: this folder belongs to another user (uid 65534)'
  expect_file logs/rank.0/stdout keep
  expect_not test -e started
}

test_every_byte_of_eight_loud_ranks_arrives_in_little_memory() { # R8
  size=$(long_or 100 1000)
  run_timeout_s=$(long_or 120 1200)
  cat >loud.py <<'END'
import hashlib, os, random, sys
rank, size = int(os.environ["RANK"]), int(sys.argv[1]) << 20
sums = [hashlib.sha256(), hashlib.sha256()]
chunk = random.Random(rank).randbytes(1 << 16).replace(b"\n", b"") + b"\n"
for i in range(size // len(chunk)):
    stream = i % 2
    sums[stream].update(chunk)
    os.write(1 + stream, chunk) == len(chunk) or sys.exit("short write")
with open(f"sum.{rank}", "w") as file:
    print(*(s.hexdigest() for s in sums), file=file)
END
  run /usr/bin/env time -f %M -o rss "$DTRAIN" run -np 8 --quiet --output-dir logs \
    /usr/bin/python3 loud.py "$size"
  expect_status 0
  for rank in 0 1 2 3 4 5 6 7; do
    read -r out_sum err_sum <"sum.$rank"
    echo "$out_sum  logs/rank.$rank/stdout"
    echo "$err_sum  logs/rank.$rank/stderr"
  done | sha256sum --check --quiet || fail 'bytes differ'
  (($(cat rss) < 256 * 1024)) || fail "the launcher took $(cat rss) KiB"
}

test_loud_ranks_on_the_console_lose_nothing_either() { # F11
  lines=$(long_or 200000 2000000)
  "$DTRAIN" run -np 4 seq "$lines" >console 2>errors || fail 'the job failed'
  for rank in 0 1 2 3; do
    grep -F "[$rank]<stdout>:" console | sed 's/^[^:]*://' | cmp - <(seq "$lines") || fail "rank $rank differs"
  done
}

test_random_bytes_are_kept_and_can_forge_no_tag() { # R10 F12
  size=$(long_or 10 100)
  head -c "${size}M" /dev/urandom >noise
  run_dtrain run -np 2 --output-dir logs cat "$PWD/noise"
  expect_status 0
  cmp noise logs/rank.0/stdout || fail 'rank 0 differs'
  cmp noise logs/rank.1/stdout || fail 'rank 1 differs'
  tr '\r' '\n' <"$out/stdout" | grep -av '^\(\[[01]\]<stdout>:\|$\)' | head -n 3 >forged || true
  [[ ! -s forged ]] || fail "lines without a tag: $(cat forged)"
}

test_a_line_of_ten_megabytes_is_cut_into_marked_pieces() { # F12
  run_dtrain run -np 1 sh -c 'head -c 10000000 /dev/zero | tr "\0" x; echo'
  expect_status 0
  [[ $(wc -l <"$out/stdout") -eq 153 ]] || fail "expected 153 pieces, got $(wc -l <"$out/stdout")"
  [[ $(head -n 1 "$out/stdout" | tail -c 6) == 'x …' ]] || fail 'a piece is not marked'
  [[ $(tr -cd x <"$out/stdout" | wc -c) -eq 10000000 ]] || fail 'bytes were lost'
}

test_a_slow_reader_gets_everything() { # F13
  "$DTRAIN" run -np 2 --no-tag sh -c 'head -c 240000 /dev/zero | tr "\0" x | fold -w 100; echo' | (
    sleep 0.7
    wc -c
  ) >count
  [[ ${PIPESTATUS[0]} -eq 0 ]] || fail 'the job failed'
  [[ $(cat count) -eq 484800 ]] || fail "got $(cat count) bytes"
}

test_lines_stay_whole_where_both_streams_are_one_pipe() {
  cat >loud <<'END'
[ "$RANK" = 0 ] || exec >&2
seq -f '%030.0f' 1 5000
touch "begun.$RANK"
seq -f '%030.0f' 5001 30000
END
  # The reader starts once the pipe is full and both streams wait for space.
  "$DTRAIN" run -np 2 sh loud 2>&1 | (
    wait_for test -e begun.0
    wait_for test -e begun.1
    cat
  ) >console
  [[ ${PIPESTATUS[0]} -eq 0 ]] || fail 'the job failed'
  grep -vE '^(\[0\]<stdout>|\[1\]<stderr>):[0-9]{30}$' console | head -n 5 >torn || true
  [[ ! -s torn ]] || fail "torn lines: $(cat torn)"
  grep -F '[0]<stdout>:' console | sed 's/^[^:]*://' | cmp - <(seq -f '%030.0f' 30000) || fail 'rank 0 differs'
  grep -F '[1]<stderr>:' console | sed 's/^[^:]*://' | cmp - <(seq -f '%030.0f' 30000) || fail 'rank 1 differs'
}

test_output_to_a_closed_stream_is_lost_and_no_output_is_not() { # S14
  run sh -c "'$DTRAIN' run -np 1 sh -c 'echo out' >&-"
  expect_status 1
  expect_stderr_contains 'output is lost: '
  run sh -c "'$DTRAIN' run -np 1 --output-dir logs sh -c 'echo err >&2; sleep 0.2; echo out' >&-"
  expect_stderr_contains '[0]<stderr>:err'
  expect_file logs/rank.0/stdout out
  run sh -c "'$DTRAIN' run -np 2 cat <&- >&- 2>&-"
  expect_status 0
}

test_a_job_ends_when_its_reader_has_gone_as_other_programs_do() {
  local ended
  "$DTRAIN" run -np 2 sh -c 'exec 2>/dev/null; trap "touch ended.$RANK; exit 0" TERM
    touch set.$RANK; until [ -e set.0 -a -e set.1 ]; do sleep 0.01; done; while echo line; do sleep 0.01; done' 2>errors |
    head -n 2 >first || ended=${PIPESTATUS[0]}
  [[ ${ended-0} -eq 141 ]] || fail "ended with ${ended-0}, not SIGPIPE's 141"
  [[ $(wc -l <first) -eq 2 ]] || fail "got $(cat first)"
  expect_file errors 'dtrain: the reader of standard output has gone; --on-lost-output continue runs the job without it'
  expect test -e ended.0 -a -e ended.1
  expect_no_processes
  "$DTRAIN" run -np 1 yes 2>&1 | head -n 1 >first || ended=${PIPESTATUS[0]}
  [[ ${ended-0} -eq 141 ]] || fail "ended with ${ended-0} where both streams are one pipe"
}

test_a_job_that_may_lose_its_output_survives_its_reader() {
  local job='for i in $(seq 20000); do echo line $i; done; touch done' option
  for option in '--on-lost-output continue' '--output-dir logs'; do
    # shellcheck disable=SC2086
    "$DTRAIN" run -np 1 $option sh -c "$job" 2>errors | head -n 1 >first || fail 'the job failed'
    expect test -e "done"
    rm "done"
    [[ $(cat first) == '[0]<stdout>:line 1' ]] || fail "got $(cat first)"
    grep -q 'standard output cannot be written (Broken pipe)' errors || fail "no warning: $(cat errors)"
  done
  [[ $(wc -l <logs/rank.0/stdout) -eq 20000 ]] || fail 'the file lacks lines'
}

test_output_that_cannot_be_written_is_a_failure() {
  run sh -c "'$DTRAIN' run -np 1 echo hi >/dev/full"
  expect_status 1
  expect_stderr 'dtrain: warning: standard output cannot be written (No space left on device); the job goes on without it
dtrain: output is lost: standard output cannot be written (No space left on device)'
  run sh -c "'$DTRAIN' run -np 1 --on-lost-output continue echo hi >/dev/full"
  expect_status 0
  run sh -c "'$DTRAIN' run -np 1 --quiet echo hi >/dev/full"
  expect_status 0
  expect_stderr ''
  run sh -c "'$DTRAIN' run -np 1 --report report.json echo hi >/dev/full"
  expect_status 1
  grep -q '"exit_status": 1' report.json || fail "the report differs: $(cat report.json)"
}

test_output_that_is_missing_in_a_file_is_a_failure() {
  mkdir full
  # shellcheck disable=SC2016
  run unshare -m sh -c 'mount -t tmpfs -o size=64k none full || exit 77
    "$0" run -np 2 --quiet --report report.json "$@" --output-dir full/o sh -c "head -c 300000 /dev/zero | tr \"\\0\" x"' "$DTRAIN"
  ((status != 77)) || skip 'no tmpfs can be mounted'
  expect_status 1
  expect_stderr_contains 'dtrain: warning: cannot write full/o/rank.'
  expect_stderr_contains 'dtrain: output is lost: cannot write full/o/rank.'
  expect grep -q '"exit_status": 1' report.json
  # shellcheck disable=SC2016
  run unshare -m sh -c 'mount -t tmpfs -o size=64k none full
    "$0" run -np 1 --quiet --on-lost-output continue --output-dir full/o sh -c "head -c 300000 /dev/zero"' "$DTRAIN"
  expect_status 0
  expect_stderr_contains 'bytes of output were lost, in 1 file(s)'
}

test_a_report_that_cannot_be_written_is_a_failure() {
  run_dtrain run -np 1 --report /dev/full true
  expect_status 1
  expect_stderr 'dtrain: --report: cannot write /dev/full: No space left on device'
  run_dtrain run -np 1 --report /dev/full sh -c 'exit 7'
  expect_status 7
}

test_without_tags_bytes_pass_as_they_are() {
  run_dtrain run -np 1 --no-tag sh -c 'printf "{\"a\": \""; head -c 300000 /dev/zero | tr "\0" x; printf "\"}"'
  expect_status 0
  [[ $(wc -c <"$out/stdout") -eq 300009 ]] || fail "got $(wc -c <"$out/stdout") bytes"
  expect python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out/stdout"
}

stdout_ends_in() { [[ $(tail -c "${#1}" "$out/stdout") == "$1" ]]; }

test_a_prompt_is_shown_without_its_line_end_and_its_line_continues() {
  mkfifo input
  exec 3<>input
  # A background command of bash has no stdin of its own.
  # shellcheck disable=SC2016
  start sh -c 'exec "$0" "$@" <input' "$DTRAIN" run -np 2 --stdin 0 \
    sh -c '[ $RANK = 1 ] && exit; printf "> "; read -r word; echo "got $word"' 3>&-
  wait_for stdout_ends_in '[0]<stdout>:> '
  echo something >&3
  exec 3>&-
  finish
  expect_status 0
  expect_stdout '[0]<stdout>:> got something'
}

test_no_worker_reads_stdin_by_default_so_that_loops_keep_their_list() {
  printf 'a\nb\nc\n' | while read -r item; do
    "$DTRAIN" run -np 2 --no-tag sh -c "cat; echo $item"
  done >seen 2>said
  [[ $(sort seen | tr -d '\n') == aabbcc ]] || fail "got $(cat seen)"
  # Nothing waited in the last of them.
  expect_file said "$(printf 'dtrain: warning: %s\n%.0s' "$unread" 1 "$unread" 2)"
}

unread='standard input was not read; --stdin 0 gives it to rank 0, and --stdin none is silent'

test_input_that_nobody_reads_is_named_where_there_is_some() {
  run sh -c 'echo text | "$0" run -np 2 true' "$DTRAIN"
  expect_stderr "dtrain: warning: $unread"
  run sh -c '"$0" run -np 2 true <"$0"' "$DTRAIN"
  expect_stderr "dtrain: warning: $unread"
  for quiet in 'true | "$0" run -np 1 true' 'sleep 0.2 | "$0" run -np 1 true' '"$0" run -np 1 true </dev/null' \
    'echo text | "$0" run -np 1 --stdin none true' 'echo text | "$0" run -np 1 --stdin 0 true'; do
    run sh -c "$quiet" "$DTRAIN"
    expect_status 0
    expect_stderr ''
  done
}

test_a_program_that_nobody_can_write_is_refused() {
  for command in 'python3 -' 'python3 -u -' 'bash -s x' 'sh -es' bash /bin/sh; do
    # shellcheck disable=SC2086  # several words
    run_dtrain run -np 2 $command
    expect_status 2
    expect_stderr_contains 'reads its program from standard input'
  done
  run_dtrain run --role 'worker=1 -- bash -s' --role evaluator=1 true
  expect_status 2
  run_dtrain run -np 1 bash -c 'exit 3'
  expect_status 3
  run_dtrain run -np 1 python3 -c 'raise SystemExit(4)'
  expect_status 4
  run sh -c 'echo "echo from \$RANK" | "$0" run -np 2 --stdin 1 --no-tag bash -s' "$DTRAIN"
  expect_stdout 'from 1'
}

test_the_end_of_input_of_a_rank_names_the_option_for_it() {
  for end in 'input()' 'breakpoint()'; do
    run_dtrain run -np 1 python3 -c "$end"
    expect_status 1
    expect_stderr_contains 'its standard input is empty; --stdin 0 gives it yours'
  done
  run_dtrain run -np 1 --stdin 0 python3 -c 'input()'
  expect_status 1
  expect_stderr_lacks 'its standard input is empty'
}

test_stdin_goes_to_one_rank_or_to_all() {
  seq 100000 >numbers
  "$DTRAIN" run -np 2 --stdin 1 --no-tag sh -c 'wc -l' <numbers >counts
  [[ $(sort -n counts | tr '\n' ' ') == '0 100000 ' ]] || fail "got $(cat counts)"
  "$DTRAIN" run -np 3 --stdin all --no-tag sha256sum < <(cat numbers) >sums
  [[ $(sort -u sums) == "$(sha256sum <numbers)" ]] || fail "got $(cat sums)"
}

test_a_worker_that_never_reads_its_stdin_can_still_end() {
  head -c 5000000 /dev/zero >zeros
  "$DTRAIN" run -np 2 --stdin all true <zeros
}

test_terminal_escapes_are_neutralised_on_a_terminal_only() {
  run_dtrain run -np 1 printf '\033]0;title\007\n'
  expect_stdout $'[0]<stdout>:\033]0;title\007'
  script -qec "$DTRAIN run --color never -np 1 printf '\\033]0;title\\007\\033[31mred\\n'" /dev/null >terminal
  grep -qF '[0]<stdout>:\x1B]0;title\x07' terminal || fail "got $(cat -v terminal)"
  grep -qF $'\033[31mred' terminal || fail 'colours are gone'
}

run_tests "$@"
