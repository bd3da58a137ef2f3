#!/usr/bin/env bash
# dtrain on a real terminal (terminal.py): the status line of the start, colours, resizing, and a terminal that
# closes.
. "$(dirname "$0")/lib.sh"

tests=$(realpath "$(dirname "$0")")

# on_terminal <<PYTHON: runs a script that can use `Terminal` and `dtrain`.
on_terminal() {
  {
    echo 'import os, re, signal, sys, time; from terminal import *; dtrain = os.environ["DTRAIN"]'
    cat
  } >script.py
  DTRAIN="$DTRAIN" PYTHONPATH="$tests" PYTHONDONTWRITEBYTECODE=1 run python3 script.py
  expect_status 0
}

test_a_slow_start_shows_a_line_that_is_gone_when_output_begins() {
  on_terminal <<'END'
t, agent = slow_start([dtrain, "run", "-np", "1", "echo", "out"])
with t:
    t.read_until("dtrain: [01] of 1 (hosts connected|ranks started)…")
    os.kill(agent, signal.SIGCONT)
    assert t.finish() == 0, t.text()
    assert t.screen() == ["[0]<stdout>:out"], t.screen()
END
}

test_a_shell_of_srun_on_a_terminal_starts_jobs() {
  on_terminal <<'END'
step = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"}
with Terminal([dtrain, "run", "-np", "1", "echo", "out"], environment=step) as t:
    assert t.finish() == 0, t.text()
    assert t.screen() == ["[0]<stdout>:out"], t.screen()
END
}

test_the_line_counts_the_ranks_that_have_started() {
  # The first rank that runs stops its agent, which still has other ranks to start.
  on_terminal <<'END'
stop = 'mkdir stopped 2>/dev/null && { kill -STOP $PPID; echo $PPID >pid; mv pid agent; }; true'
with Terminal([dtrain, "run", "-np", "200", "sh", "-c", stop]) as t:
    started = int(t.read_until(r"dtrain: (\d+) of 200 ranks started…")[1])
    assert started < 200
    while not os.path.exists("agent"):
        time.sleep(0.01)
    os.kill(int(read_file("agent")), signal.SIGCONT)
    assert t.finish() == 0, t.text()
    assert t.screen() == [], t.screen()
END
}

test_the_line_is_gone_before_a_message() {
  on_terminal <<'END'
t, agent = slow_start([dtrain, "run", "-np", "1", "true"])
with t:
    t.read_until("dtrain: [01] of 1 .*…")
    os.kill(t.pid, signal.SIGINT)
    os.kill(agent, signal.SIGCONT)
    assert t.finish() == 130, t.status
    assert t.screen() == ["dtrain: interrupted by SIGINT"], t.screen()
END
}

test_the_line_fits_the_terminal_also_after_a_resize() {
  on_terminal <<'END'
t, agent = slow_start([dtrain, "run", "-np", "1", "true"], columns=20)
with t:
    t.read_until("dtrain: [01] of 1 (hos|ran)…")
    t.resize(40)
    t.read_until("dtrain: [01] of 1 (hosts connected|ranks started)…")
    os.kill(agent, signal.SIGCONT)
    assert t.finish() == 0
END
}

test_there_is_no_line_where_the_user_does_not_want_it() {
  on_terminal <<'END'
def check(command, environment=None):
    t, agent = slow_start(command, shows=False, environment=environment)
    with t:
        assert t.output == b"", t.text()
        os.kill(agent, signal.SIGCONT)
        assert t.finish() == 0
        assert t.screen() == [], t.screen()
check([dtrain, "run", "-np", "1", "--quiet", "true"])
check([dtrain, "run", "-np", "1", "true"], {"TERM": "dumb"})
check([dtrain, "run", "-np", "1", "true"], {"CI": "true"})
check(["sh", "-c", 'exec "$0" run -np 1 true 2>errors', dtrain])
assert read_file("errors") == b"", read_file("errors")
END
}

test_a_quick_start_writes_nothing_but_output() {
  on_terminal <<'END'
with Terminal([dtrain, "run", "-np", "1", "--no-tag", "true"]) as t:
    assert t.finish() == 0
    assert "\x1b" not in t.text() or "connected" in t.text() or "started" in t.text(), t.text()
    assert t.screen() == [], t.screen()
END
}

test_ranks_have_colours_on_a_terminal() {
  on_terminal <<'END'
worker = ["-np", "2", "--on-failure", "continue", "sh", "-c", "echo out; [ $RANK = 0 ] || { echo err >&2; exit 3; }"]
def shown(environment=None, options=()):
    with Terminal([dtrain, "run", *options, *worker], environment=environment) as t:
        assert t.finish() == 3, t.text()
        return t.text()
for text in (shown(), shown({"NO_COLOR": "1"}, ["--color", "always"])):
    assert "\x1b[0;36m[0]<stdout>:\x1b[0mout" in text, text
    assert "\x1b[0;33m[1]<stdout>:\x1b[0mout" in text, text
    assert "\x1b[0;33m[1]<stderr>:\x1b[0merr" in text, text
    assert "\x1b[0;31mdtrain:\x1b[0m rank 1 (host" in text, text
for plain in (shown({"NO_COLOR": "1"}), shown({"TERM": "dumb"}), shown({"CLICOLOR": "0"}),
              shown(None, ["--color", "never"])):
    assert "\x1b[0;3" not in plain and "[1]<stderr>:err" in plain, plain
END
}

test_a_worker_can_forge_no_line_of_others_by_backspaces_and_colours() {
  cat >forge <<'END'
printf '\b\b\b\b\b\b\b\b\b\b\b\b[3]<stdout>:accuracy 99.9 %%\n\033[8mhidden\n\302\2332J\342\200\256\n'
exit 3
END
  on_terminal <<'END'
with Terminal([dtrain, "run", "--color", "never", "-np", "1", "sh", "forge"]) as t:
    assert t.finish() == 3, t.text()
    assert "\b" not in t.text() and "\u009b" not in t.text() and "\u202e" not in t.text(), t.text()
    assert "\x1b[8mhidden\x1b[0m\r\n" in t.text(), t.text()
    assert t.screen()[0] == "[0]<stdout>:[3]<stdout>:accuracy 99.9 %", t.screen()
END
}

test_each_stream_has_colours_only_where_it_is_a_terminal() {
  on_terminal <<'END'
script = 'exec "$0" run -np 1 sh -c "echo out; echo err >&2" >file'
with Terminal(["sh", "-c", script, dtrain]) as t:
    assert t.finish() == 0
    assert "\x1b[0;36m[0]<stderr>:\x1b[0merr" in t.text(), t.text()
assert read_file("file") == b"[0]<stdout>:out\n", read_file("file")
END
}

test_workers_get_a_signal_for_a_resize() {
  on_terminal <<'END'
worker = 'trap "echo resized; exit 0" WINCH; echo ready; while :; do sleep 0.02; done'
with Terminal([dtrain, "run", "-np", "2", "sh", "-c", worker]) as t:
    t.read_until(r"(?s)ready.*ready")
    t.resize(132)
    assert t.finish() == 0, t.text()
    assert t.text().count("resized") == 2, t.text()
END
}

test_a_terminal_that_closes_ends_the_job() { # F27
  on_terminal <<'END'
with Terminal([dtrain, "run", "-np", "2", "sh", "-c", "echo ready; exec sleep 60"]) as t:
    t.read_until(r"(?s)ready.*ready")
    t.close()
    status = os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1])
    t.status = status
    assert status == 129, status
END
  expect_no_processes
}

test_an_answer_to_a_prompt_ends_its_line() {
  on_terminal <<'END'
worker = 'printf "> "; read -r word; echo got it'
with Terminal([dtrain, "run", "--color", "never", "-np", "1", "--stdin", "0", "sh", "-c", worker]) as t:
    t.read_until("> ")
    os.write(t.master, b"yes\n")
    assert t.finish() == 0, t.text()
    assert t.screen() == ["[0]<stdout>:> yes", "[0]<stdout>:got it"], t.screen()
END
}

test_under_nohup_the_job_outlives_its_terminal() { # F27
  on_terminal <<'END'
worker = "echo ready; until [ -e go ]; do sleep 0.02; done; seq 20000; echo late >&2; touch done.$RANK"
hold = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
with Terminal([dtrain, "run", "-np", "2", "sh", "-c", worker], setup=hold) as t:
    t.read_until(r"(?s)ready.*ready")
    t.close()
    open("go", "w").close()
    t.status = os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1])
    assert t.status == 0, t.status
END
  expect test -e done.0
  expect test -e done.1
  expect_no_processes
}

test_a_job_in_the_background_may_write_to_its_terminal() {
  # With `stty tostop`, the kernel stops a background process that writes, unless it ignores SIGTTOU.
  on_terminal <<'END'
script = 'set -m; stty tostop; "$0" run -np 1 --stdin all sh -c "echo from behind; cat" & wait $!; echo status $?'
with Terminal(["sh", "-c", script, dtrain]) as t:
    t.read_until("from behind")
    os.write(t.master, b"x\n")
    t.read_for(0.3)
    assert "status" not in t.text(), t.text()
    t.status = 0
    os.kill(t.pid, signal.SIGKILL)
END
}

run_tests "$@"
