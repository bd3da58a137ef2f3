#!/usr/bin/env python3
"""Runs a command on a terminal and types into it: typing.py SECONDS STEPS COMMAND...

STEPS is a file of pairs of lines: a text to wait for in what the terminal shows since the last
keys, and the keys to type then (Python escapes, as in run\\t; an empty line types nothing). The
whole has SECONDS; then the terminal hangs up. Prints what was shown; ends with the command's
status, or with 1 and the step that waited for nothing.
"""
import os
import signal
import sys
import time

from terminal import Terminal


def read_steps(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    keys = [line.encode().decode("unicode_escape").encode("latin-1") for line in lines[1::2]]
    return list(zip([line.encode() for line in lines[::2]], keys))


def take_signals():
    """A background command of a script has these ignored; a person's has not."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def follow(terminal, steps, deadline):
    """Takes the steps; the text that was never shown, or None."""
    begin = 0
    for text, keys in steps:
        while terminal.output.find(text, begin) < 0:
            if not terminal.read(deadline - time.monotonic()):
                return text
        if keys:  # output from before the keys is no answer to them
            begin = len(terminal.output)
            os.write(terminal.master, keys)
    while terminal.read(deadline - time.monotonic()):
        pass
    return None


def main(arguments):
    deadline = time.monotonic() + float(arguments[0])
    with Terminal(arguments[2:], setup=take_signals) as terminal:
        missing = follow(terminal, read_steps(arguments[1]), deadline)
        terminal.close()
        status = 1 if missing else os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1])
        terminal.status = None if missing else status
    sys.stdout.buffer.write(terminal.output)
    if missing:
        print(f"\ntyping: never shown: {missing.decode()}")
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
