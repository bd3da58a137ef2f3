"""The reports of uncaught errors: they end in the line of the program that called the package.

`dtrain run` reports the last line of a traceback, which would be one of the package for each failure.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType

from dtrain._errors import Error

# Calls of torch.distributed pass through it.
_PACKAGES = (os.path.dirname(os.path.abspath(__file__)) + os.sep, f"{os.sep}torch{os.sep}distributed{os.sep}")


def install() -> None:
    """Cut the tracebacks of this package's errors, and pass them to the hook that is there."""
    earlier = sys.excepthook

    def report(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, Error):
            _cut_all(error)
            _cut(traceback)
        earlier(kind, error, traceback)

    sys.excepthook = report


def _cut_all(error: BaseException | None) -> None:
    """Cut the tracebacks of an error and of its causes, which are printed, too."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        _cut(error.__traceback__)
        error = error.__cause__ or error.__context__


def _cut(traceback: TracebackType | None) -> None:
    """End a traceback in its last frame outside of the package, if it has one."""
    last = None
    while traceback is not None:
        if not any(one in traceback.tb_frame.f_code.co_filename for one in _PACKAGES):
            last = traceback
        traceback = traceback.tb_next
    if last is not None:
        last.tb_next = None
