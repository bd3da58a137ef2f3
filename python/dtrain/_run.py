"""Running one function on all ranks of a new job, from a script or a notebook."""

import codecs
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
from pathlib import Path
from typing import IO, Any, TextIO

from dtrain import _functions
from dtrain._binary import find_binary
from dtrain._errors import ArgumentError, Error

# A rank does not import from its folder, which other users may write: its path is that of the caller.
_WORKER = "import sys; sys.path[:] = [path for path in sys.path if path]; from dtrain._run_worker import main; main()"
# Colours, and what else moves a terminal's cursor or changes its state.
_CONTROL = re.compile(r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CUT_COLOUR = re.compile(r"\x1b(\[[0-9;]*)?$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_OWN_LINE = re.compile(r"^dtrain: (.*)$", re.M)
_STDERR_TAIL = 16_384
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
    is at the same path on each host. Their output is printed here, and nothing that they print can change a result.
    Function, arguments and results are pickled; functions and classes of a script or notebook are sent with their code.

    A failure is a RunError with rank, host, cause and last lines of stderr.
    """
    if np is None and hosts is None:
        raise ArgumentError("np: give the number of ranks, or hosts with their slots")
    if np is not None and np < 1:
        raise ArgumentError(f"np: give a number from 1, not {np}")
    call = _functions.pack((function, tuple(args), dict(kwargs or {})))
    with tempfile.TemporaryDirectory(prefix="dtrain-run-") as folder:
        report = _report_of(options) or os.path.join(folder, "report.json")
        words = [find_binary(), "run", "--stdin", "all", "--report", report]
        words += [] if np is None else ["-np", str(np)]
        words += [] if hosts is None else ["-H", hosts]
        words += [*options, "--result-dir", folder, "--", executable or sys.executable, "-c", _WORKER]
        errors, status = _run_job(words, call, {**os.environ, **(env or {})})
        if status != 0:
            raise _failure(report, errors, status)
        return _results(Path(folder))


def _report_of(options: Sequence[str]) -> str | None:
    """Return the file of the last --report among the options."""
    found = None
    for word, following in zip(options, [*options[1:], ""], strict=False):
        if word == "--report":
            found = following
        elif word.startswith("--report="):
            found = word.partition("=")[2]
    return found


def _results(folder: Path) -> list[Any]:
    files = {int(file.parent.name.rpartition(".")[2]): file for file in folder.glob("rank.*/result")}
    if not files:
        raise RunError("dtrain run has started no rank; is dry-run among its options?", None, 0)
    results = []
    for rank in range(len(files)):
        try:
            with files[rank].open("rb") as file:
                results.append(pickle.load(file))
        except EOFError:
            text = f"rank {rank} has ended without a whole result; it may have called os._exit"
            raise RunError(text, None, 0) from None
    return results


def _run_job(words: list[str], call: bytes, env: dict[str, str]) -> tuple[list[str], int]:
    """Run the launcher to its end. Return its own last lines on stderr, and its exit status."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    tail = [""]
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with _ended(process):
        threads = [
            threading.Thread(target=_write_call, args=(process.stdin, call)),
            threading.Thread(target=_forward, args=(process.stderr, sys.stderr, tail)),
        ]
        for thread in threads:
            thread.start()
        _forward(process.stdout, sys.stdout, [""])
        for thread in threads:
            thread.join()
        status = process.wait()
    return _OWN_LINE.findall(_COLOUR.sub("", tail[0])), status


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


def _forward(stream: IO[bytes], to: TextIO, tail: list[str]) -> None:
    """Print what a stream brings, harmless where it goes to a terminal. Leave its end in `tail`."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for_terminal = to.isatty()
    held = ""
    while True:
        chunk = stream.read1(65_536)  # type: ignore[attr-defined]  # a pipe of Popen is buffered
        text = held + decoder.decode(chunk, final=not chunk)
        cut = _CUT_COLOUR.search(text) if chunk else None
        held = cut[0] if cut else ""
        text = text.removesuffix(held)
        tail[0] = (tail[0] + text)[-_STDERR_TAIL:]
        to.write(_harmless(text) if for_terminal else text)
        to.flush()
        if not chunk:
            return


def _harmless(text: str) -> str:
    return _CONTROL.sub(lambda found: found[1] or f"\\x{ord(found[0]):02x}", text)


def _failure(report_path: str, errors: list[str], status: int) -> RunError:
    report = _read(report_path)
    failure = (report or {}).get("failure")
    if not failure:
        return RunError("; ".join(errors) or f"dtrain run ended with status {status}", report, status)
    text = f"rank {failure['rank']} (host {failure['host']}) failed: {failure['cause']}"
    error = _error_text(failure)
    if error:
        text += f": {error}"
    return RunError(_harmless("\n".join([text, *(failure.get("last_stderr") or [])])), report, status)


def _error_text(failure: Mapping[str, Any]) -> str | None:
    """Return the Python error of a rank and its place, as dtrain prints them."""
    error = failure.get("error")
    if not error:
        return None
    message: str = error["message"]
    return f"{message} ({error['frame']})" if error.get("frame") else message


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            report: dict[str, Any] = json.load(file)
            return report
    except (OSError, ValueError):
        return None
