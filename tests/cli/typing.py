#!/usr/bin/env python3
"""Runs a command on a terminal and types into it: typing.py SECONDS STEPS COMMAND...

STEPS is a file of pairs of lines: a text to wait for in what the terminal shows since the last
keys, and the keys to type then (Python escapes, as in run\\t; an empty line types nothing). The
whole has SECONDS; then the terminal hangs up. Prints what was shown; ends with the command's
status, or with 1 and the step that waited for nothing.
"""
import os
import pty
import select
import signal
import sys
import time


def read_steps(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    keys = [line.encode().decode("unicode_escape").encode("latin-1") for line in lines[1::2]]
    return list(zip([line.encode() for line in lines[::2]], keys))


class Terminal:
    """A command on a terminal of its own, with a deadline for everything that is read."""

    def __init__(self, command, deadline):
        self.deadline = deadline
        self.shown = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGQUIT):  # a background command has them ignored
                signal.signal(number, signal.SIG_DFL)
            os.execvp(command[0], command)

    def read(self):
        """Adds to what was shown; false at the end, or when time is over."""
        left = self.deadline - time.monotonic()
        if left <= 0 or not select.select([self.fd], [], [], left)[0]:
            return False
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # EIO: everybody has closed it
            return False
        self.shown += piece
        return bool(piece)

    def wait_for(self, text, begin):
        while self.shown.find(text, begin) < 0:
            if not self.read():
                return False
        return True

    def end(self):
        """The command's status; a terminal that hangs up ends what still runs."""
        while self.read():
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main(arguments):
    terminal = Terminal(arguments[2:], time.monotonic() + float(arguments[0]))
    missing = None
    begin = 0
    for text, keys in read_steps(arguments[1]):
        if not terminal.wait_for(text, begin):
            missing = text
            break
        if keys:  # what came before them is no answer to them
            begin = len(terminal.shown)
            os.write(terminal.fd, keys)
    status = terminal.end()
    sys.stdout.buffer.write(terminal.shown)
    if missing is not None:
        print(f"\ntyping: never shown: {missing.decode()}")
        return 1
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
