"""Jobs of scripts, seen from outside."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass

# Other programs want the cores in `make test-ci`, and not in `make test-long`.
BUSY = os.environ.get("DTRAIN_TEST_LONG") != "1"
DTRAIN = os.path.join(sys.prefix, "bin", "dtrain")
PROLOGUE = """
import dtrain, os, signal, sys, threading, time
world = dtrain.init(timeout=180)
rank = world.rank
"""


@dataclass
class Ended:
    status: int
    stdout: str
    stderr: str
    seconds: float

    def lines(self) -> list[str]:
        return sorted(self.stdout.splitlines())


def environment(**changes: str) -> dict[str, str]:
    """Return the environment without what an outer job or other launchers have set."""
    others = ("DTRAIN_", "WORLD_SIZE", "HOROVOD_", "OMPI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return {**kept, **changes}


def start(words: list[str], **changes: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment(**changes))


def finish(process: subprocess.Popen[str], begin: float) -> Ended:
    stdout, stderr = process.communicate(timeout=180)
    return Ended(process.returncode, stdout, stderr, time.monotonic() - begin)


def words_of(size: int, script: str, *options: str) -> list[str]:
    return [DTRAIN, "run", "-np", str(size), "--no-tag", *options, "--", sys.executable, "-c", PROLOGUE + script]


def run_job(size: int, script: str, *options: str, **changes: str) -> Ended:
    begin = time.monotonic()
    return finish(start(words_of(size, script, *options), **changes), begin)


def run_python(script: str, *words: str, **changes: str) -> Ended:
    begin = time.monotonic()
    return finish(start([sys.executable, *words, "-c", script], **changes), begin)
