#!/usr/bin/env bash
# Invalid input: the binary ends with 2 and a message, and starts nothing. The tables of single values are in
# tests/unit; here are a sample of them, and the cases that need a file system.
. "$(dirname "$0")/lib.sh"

expect_refusal_of() { # of the option $1
  expect_status 2
  expect_stderr_contains "$1"
  expect_stdout ''
  (($(wc -l <"$out/stderr") <= 4)) || fail 'expected at most four lines'
  expect_not test -e started
}

# The options that take a value, as help shows them: "--timeout TIME".
value_options() {
  "$DTRAIN" help run | grep -oE -- '^  (-[^ ]+, )*--?[^ ]+ [A-Z0-9a-z][^ ]*( [A-Z]+)?(  |$)' |
    sed -E 's/^ *(-[^ ]+, )*//' | awk '{ print $1, $2 }'
}

test_every_option_refuses_an_empty_value_and_starts_nothing() {
  value_options >options
  (($(wc -l <options) > 10)) || fail "expected more options: $(cat options)"
  while read -r option _; do
    run_dtrain run -np 1 "$option=" touch started
    expect_refusal_of "$option"
  done <options
}

test_numbers_and_times_refuse_what_is_none() {
  value_options | grep -E ' (N|TIME)$' >options
  (($(wc -l <options) > 5)) || fail "expected more options: $(cat options)"
  huge=$(head -c 100000 /dev/zero | tr '\0' 9)
  while read -r option _; do
    for value in "$huge" -1 $'\xff\xfe' 1.5.2 ' '; do
      run_dtrain run -np 1 "$option=$value" touch started
      expect_refusal_of "$option"
    done
  done <options
}

test_files_and_folders_of_endless_names_are_refused_before_anything_starts() {
  name=$(head -c 100000 /dev/zero | tr '\0' x)
  for option in --hostfile --config-file --output-dir --report --chdir; do
    run_dtrain run -np 1 "$option" "$name" touch started
    expect_refusal_of 'File name too long'
    (($(wc -c <"$out/stderr") < 2000)) || fail 'the whole name is shown'
  done
}

test_random_command_lines_end_soon_with_a_status_of_dtrain_or_of_the_command() {
  cat >lines.py <<'END'
import os, random, re, shutil, subprocess, sys
# Random words may become the command, even "kill": PATH has harmless programs alone.
os.mkdir("harmless")
for name in "true", "false":
    os.symlink(shutil.which(name), "harmless/" + name)
os.environ["PATH"] = os.path.abspath("harmless")
dtrain, count = sys.argv[1], int(sys.argv[2])
text = subprocess.run([dtrain, "help", "run"], capture_output=True, text=True, check=True).stdout
options = sorted(set(re.findall(r"(?<=[ ,])--?[a-zA-Z][-a-zA-Z]*", text)))
values = ["", "0", "1", "2", "-1", "65537", "9" * 400, "x" * 100000, "localhost:2", "localhost,::1:1",
          "[::1]:2", "localhost:0", "10s", "1e9", "all", "none", "kill", "always", "A=1", "/", ".", "/dev/null",
          "/dev/full", "--", "-", "a\nb", "\udcff\udcfe", "\x1b[31m", "%s", "$(id)", "true", "--help", "dtrain"]
rng = random.Random(4)
statuses = {}
for number in range(count):
    line = []
    for _ in range(rng.randrange(5)):
        option = rng.choice(options)
        line += rng.choice([[option], [option, rng.choice(values)], [option + "=" + rng.choice(values)]])
    words = [dtrain, "run", "-np", "2"] + rng.choice([["--dry-run"], ["--timeout", "20s"]]) + line
    words += rng.choice([["true"], ["--", "true"], ["false"], []])
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    except subprocess.TimeoutExpired:
        sys.exit(f"hangs: {words!r}"[:2000])
    reported = [l for l in done.stderr.split(b"\n") if l.startswith(b"dtrain: ") and b"warning: " not in l]
    chatty = any(word.startswith("--verbose") for word in words)
    # Each restart of a job has its own lines.
    starts = 1 + sum(l.startswith(b"dtrain: restart ") for l in reported)
    if done.returncode not in (0, 1, 2, 3, 126, 127) or (len(reported) > 4 * starts and not chatty) or (done.returncode == 2 and not reported):
        sys.exit(f"status {done.returncode}: {words!r}"[:2000] + f"\n{done.stderr!r}"[:2000])
    statuses[done.returncode] = statuses.get(done.returncode, 0) + 1
if statuses.get(0, 0) < count / 20 or statuses.get(2, 0) < count / 20:
    sys.exit(f"the lines are of one kind only: {statuses}")
END
  run_timeout_s=300
  run /usr/bin/python3 lines.py "$DTRAIN" "$(long_or 300 10000)"
  expect_status 0
  expect_no_processes
}

test_an_output_folder_that_cannot_be_made_is_reported_with_the_reason() { # B44
  ln -s nowhere dangling
  touch file
  for place in /proc/logs:'No such file' file:'no folder' file/logs:'Not a directory' dangling:'No such file'; do
    run_dtrain run -np 1 --output-dir "${place%%:*}" touch started
    expect_refusal_of --output-dir
    expect_stderr_contains "${place%%:*}"
    expect_stderr_contains "${place#*:}"
  done
}

test_an_output_folder_in_which_others_can_put_links_is_refused() { # B44
  mkdir -m 777 open
  mkdir -m 1777 sticky
  run_dtrain run -np 1 --output-dir open touch started
  expect_refusal_of --output-dir
  expect_stderr_contains 'chmod o-w open'
  mkdir elsewhere
  ln -s ../elsewhere sticky/rank.0
  run_dtrain run -np 1 --output-dir sticky touch started
  expect_refusal_of --output-dir
  expect_stderr_contains 'sticky/rank.0: a link'
  rm sticky/rank.0 && mkdir sticky/rank.0 && ln -s ../../elsewhere/file sticky/rank.0/stdout
  run_dtrain run -np 1 --output-dir sticky touch started
  expect_refusal_of --output-dir
  expect_not test -e elsewhere/file
  rm sticky/rank.0/stdout
  run_dtrain run -np 1 --output-dir sticky true
  expect_status 0
}

test_a_full_or_read_only_output_folder_is_reported_before_the_start() { # B44
  mkdir full locked
  unshare -m true 2>/dev/null || skip 'no mount namespaces here'
  run unshare -m sh -c 'mount -t tmpfs -o nr_inodes=1 none full && mount -t tmpfs -o ro none locked || exit 77
    "$@" --output-dir full/logs touch started; "$@" --output-dir locked/logs touch started' sh "$DTRAIN" run -np 1
  ((status != 77)) || skip 'no tmpfs can be mounted here'
  expect_status 2
  expect_stderr_contains 'full/logs: No space left on device'
  expect_stderr_contains 'locked/logs: Read-only file system'
  expect_not test -e started
}

test_a_syntax_error_in_a_file_shows_the_line_and_a_caret() { # B24
  printf '# job\nnp 4\n' >dtrain.toml
  run_dtrain run touch started
  expect_refusal_of 'dtrain.toml:2:4: '
  grep -q '^dtrain:      ^$' "$out/stderr" || fail 'no caret'
}

test_a_file_that_is_too_large_or_too_deep_is_refused() { # B26
  { printf 'chdir = "' && head -c 2000000 /dev/zero | tr '\0' x && printf '"\n'; } >dtrain.toml
  run_dtrain run -np 1 touch started
  expect_refusal_of 'it is larger than 1 MB'
  { printf 'np = ' && head -c 10000 /dev/zero | tr '\0' '['; } >dtrain.toml
  run_dtrain run touch started
  expect_refusal_of 'dtrain.toml:1:'
}

run_tests "$@"
