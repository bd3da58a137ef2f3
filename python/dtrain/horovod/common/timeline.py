"""A trace of the operations of one rank, in the format of Chrome's about:tracing and of Perfetto."""

import json
import threading
from typing import Any


class Timeline:
    """The file of a trace. It is a list of JSON, valid at each time but for its last bracket."""

    def __init__(self, path: str, rank: int) -> None:
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115
        self._lock = threading.Lock()
        self._rank = rank
        self._file.write("[\n")
        self._write({"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}}, "")

    def record(self, name: str, kind: str, times: tuple[int, int, int]) -> None:
        """Write one operation: it waits for others from its submission to its start, and runs to its end."""
        submitted, started, ended = times
        args = {"name": name}
        row = {"ph": "X", "pid": self._rank, "tid": kind, "args": args}
        begin = started or ended
        self._write({**row, "name": f"NEGOTIATE_{kind}", **_span(submitted, begin)})
        self._write({**row, "name": kind, **_span(begin, ended)})

    def close(self) -> None:
        """End the file."""
        with self._lock:
            if not self._file.closed:
                self._file.write("\n]\n")
                self._file.close()

    def _write(self, event: dict[str, Any], separator: str = ",\n") -> None:
        with self._lock:
            if not self._file.closed:
                self._file.write(separator + json.dumps(event))


def _span(begin_ns: int, end_ns: int) -> dict[str, float]:
    return {"ts": begin_ns / 1000, "dur": max(0, end_ns - begin_ns) / 1000}
