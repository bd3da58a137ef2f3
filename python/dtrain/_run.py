"""Running one function on all ranks of a new job, from a script or a notebook."""

import base64
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from dtrain import _functions
from dtrain._binary import find_binary
from dtrain._errors import ArgumentError, Error

# A line of a result: this mark, and base64. dtrain cuts lines of 64 KiB.
RESULT_MARK = "\x01dtrain-result "
RESULT_LINE_BYTES = 45_000
_TAGGED = re.compile(r"^\[(\d+)\]<stdout>:(.*)$", re.S)
# A launcher that was asked to end gets so long, which is more than its own --grace.
_END_S = 15.0


class RunError(Error):
    """A job of dtrain.run has failed.

    `rank`, `host` and `cause` name the first failure. `error` is the Python error of that rank, if it had one.
    `last_stderr` has its last lines. `exit_status` is that of the launcher.
    """

    def __init__(self, text: str, report: Mapping[str, Any] | None = None, exit_status: int = 1) -> None:
        failure = (report or {}).get("failure") or {}
        super().__init__(text, "peer_lost", failure.get("rank"))
        self.host = failure.get("host")
        self.cause = failure.get("cause") or (report or {}).get("reason") or text
        self.error = _error_text(failure)
        self.last_stderr: list[str] = failure.get("last_stderr") or []
        self.exit_status = exit_status

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), None, self.exit_status), self.__dict__


def run(
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    np: int | None = None,
    hosts: str | None = None,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    executable: str | None = None,
) -> list[Any]:
    """Call `function(*args, **kwargs)` on each rank of a new job, and return the results by rank.

    `np` is the number of ranks, and `hosts` are those of `dtrain run -H`. `options` are further words for `dtrain run`,
    and `env` are further variables of the ranks. They run by the Python `executable`, which is this one by default, and
    is at the same path on each host. Their output is printed here. Function, arguments and results are pickled;
    functions and classes of a script or notebook are sent with their code.

    A failure is a RunError with rank, host, cause and last lines of stderr.
    """
    if np is None and hosts is None:
        raise ArgumentError("np: give the number of ranks, or hosts with their slots")
    if np is not None and np < 1:
        raise ArgumentError(f"np: give a number from 1, not {np}")
    call = _functions.pack((function, tuple(args), dict(kwargs or {})))
    with tempfile.TemporaryDirectory(prefix="dtrain-run-") as folder:
        report = os.path.join(folder, "report.json")
        words = [find_binary(), "run", "--stdin", "all", "--report", report]
        words += [] if np is None else ["-np", str(np)]
        words += [] if hosts is None else ["-H", hosts]
        words += [*options, "--", executable or sys.executable, "-m", "dtrain._run_worker"]
        results, errors, status = _run_job(words, call, {**os.environ, **(env or {})})
        if status != 0:
            raise _failure(report, errors, status)
        size = _size_of(report, results)
    missing = [rank for rank in range(size) if rank not in results]
    if missing:
        raise RunError(f"rank {missing[0]} has ended without a result; it may have called os._exit", None, status)
    return [pickle.loads(base64.b64decode(results[rank])) for rank in range(size)]


def _run_job(words: list[str], call: bytes, env: dict[str, str]) -> tuple[dict[int, str], list[str], int]:
    """Run the launcher to its end. Return the results, the lines of its own on stderr, and its exit status."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    results: dict[int, str] = {}
    errors: list[str] = []
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with _ended(process):
        threads = [
            threading.Thread(target=_write_call, args=(process.stdin, call)),
            threading.Thread(target=_forward_errors, args=(process.stderr, errors)),
        ]
        for thread in threads:
            thread.start()
        for line in _lines_of(process.stdout):
            sys.stdout.write(_without_result(line, results))
        for thread in threads:
            thread.join()
        status = process.wait()
    return results, errors, status


def _without_result(line: str, results: dict[int, str]) -> str:
    """Return a line without the piece of a result in it, which is added to the results."""
    tagged = _TAGGED.match(line)
    if not tagged or RESULT_MARK not in tagged[2]:
        return line
    rank = int(tagged[1])
    printed, _, piece = tagged[2].partition(RESULT_MARK)
    results[rank] = results.get(rank, "") + piece.strip()
    return f"[{rank}]<stdout>:{printed}\n" if printed else ""


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the launcher, and with it the job, where the body is left by an exception such as KeyboardInterrupt."""
    try:
        yield
    except BaseException:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def _write_call(stdin: IO[bytes], call: bytes) -> None:
    try:
        stdin.write(call)
        stdin.close()
    except OSError:
        pass  # the job has ended, and its report has the reason


def _forward_errors(stderr: IO[bytes], errors: list[str]) -> None:
    for line in _lines_of(stderr):
        sys.stderr.write(line)
        if line.startswith("dtrain: "):
            errors.append(line.removeprefix("dtrain: ").rstrip("\n"))


def _lines_of(stream: IO[bytes]) -> Iterator[str]:
    for line in stream:
        yield line.decode(errors="replace")


def _failure(report_path: str, errors: list[str], status: int) -> RunError:
    report = _read(report_path)
    failure = (report or {}).get("failure")
    if not failure:
        return RunError("; ".join(errors) or f"dtrain run ended with status {status}", report, status)
    text = f"rank {failure['rank']} (host {failure['host']}) failed: {failure['cause']}"
    error = _error_text(failure)
    if error:
        text += f": {error}"
    return RunError("\n".join([text, *(failure.get("last_stderr") or [])]), report, status)


def _error_text(failure: Mapping[str, Any]) -> str | None:
    """Return the Python error of a rank and its place, as dtrain prints them."""
    error = failure.get("error")
    if not error:
        return None
    message: str = error["message"]
    return f"{message} ({error['frame']})" if error.get("frame") else message


def _size_of(report_path: str, results: Mapping[int, str]) -> int:
    report = _read(report_path)
    return int(report["world_size"]) if report else len(results)


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            report: dict[str, Any] = json.load(file)
            return report
    except (OSError, ValueError):
        return None
