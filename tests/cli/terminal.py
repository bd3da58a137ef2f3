"""A program on a terminal of its own, for tests.

    with Terminal([dtrain, "run", "-np", "1", "true"], columns=40) as t:
        t.read_until("text")
        assert t.finish() == 0
        assert t.screen() == ["line", …]
"""
import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

PATIENCE_S = 30


class Terminal:
    def __init__(self, command, columns=80, environment=None, setup=None):
        """`environment` changes ours (None removes a variable); `setup` runs in the child."""
        variables = dict(os.environ, TERM="xterm")
        for name, value in (environment or {}).items():
            variables.pop(name, None)
            if value is not None:
                variables[name] = value
        self.output = b""
        self.status = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            set_size(0, columns)
            if setup:
                setup()
            os.execvpe(command[0], command, variables)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.close()

    def close(self):
        if self.master >= 0:
            os.close(self.master)
        self.master = -1

    def read(self, seconds):
        """Some more output; False at its end or when none came."""
        if not select.select([self.master], [], [], max(0, seconds))[0]:
            return False
        try:
            more = os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.output += more
        return bool(more)

    def read_until(self, pattern):
        """Reads until the regular expression is in what came; returns the match."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.text())):
            if not self.read(deadline - time.monotonic()):
                sys.exit(f"no {pattern!r} in: {self.text()!r}")
        return found

    def read_for(self, seconds):
        deadline = time.monotonic() + seconds
        while self.read(deadline - time.monotonic()):
            pass

    def finish(self):
        """Reads to the end; the exit status, negative for a signal."""
        while self.read(PATIENCE_S):
            pass
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def text(self):
        return self.output.decode(errors="replace")

    def screen(self):
        """The lines that a person sees, as far as \\r, \\n, erasing and colours go."""
        lines, column = [""], 0
        for part in re.findall(r"\x1b\[[0-9;]*[a-zA-Z]|.", self.text(), re.DOTALL):
            if part == "\n":
                lines.append("")
            elif part == "\r":
                column = 0
            elif part == "\x1b[K":
                lines[-1] = lines[-1][:column]
            elif not part.startswith("\x1b"):
                lines[-1] = lines[-1][:column] + part + lines[-1][column + 1 :]
                column += 1
        return lines[:-1] if lines[-1] == "" else lines

    def resize(self, columns):
        set_size(self.master, columns)

    def stop_agent(self):
        """Stops dtrain's agent as soon as it exists. Returns its pid; None when the agent was too quick."""
        # The command line would not do: it is empty for a moment in each exec.
        while b") Z " not in read_file(f"/proc/{self.pid}/stat"):
            # A child without this name may be another program, for which the launcher waits.
            for child in read_file(f"/proc/{self.pid}/task/{self.pid}/children").split():
                if read_file(f"/proc/{child.decode()}/comm") == b"dtrain-agent\n":
                    try:
                        os.kill(int(child), signal.SIGSTOP)
                    except ProcessLookupError:
                        return None
                    return int(child)
        return None


def slow_start(command, shows=True, **options):
    """Returns a terminal with a dtrain whose agent was stopped during the start, and the agent's pid.

    With `shows`, the status line of a slow start has appeared; else there was time enough for it."""
    for _ in range(100):
        terminal = Terminal(command, **options)
        agent = terminal.stop_agent()
        terminal.read(0.4)
        # Without these, the agent was faster than this script, and the job has begun or ended.
        alive = read_file(f"/proc/{terminal.pid}/cmdline") != b""
        if agent and alive and (terminal.output.startswith(b"dtrain: ") or not shows):
            return terminal, agent
        terminal.__exit__()
    sys.exit("the agent was always too quick")


def read_file(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def set_size(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
