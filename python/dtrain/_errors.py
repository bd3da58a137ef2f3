"""The exceptions of the package."""

import re

from dtrain import _core

__all__ = ["ArgumentError", "Error"]

_NAMES = {
    _core.ERROR_INPUT: "input",
    _core.ERROR_SYSTEM: "system",
    _core.ERROR_UNREACHABLE: "unreachable",
    _core.ERROR_REFUSED: "refused",
    _core.ERROR_CLOSED: "closed",
    _core.ERROR_TIMEOUT: "timeout",
    _core.ERROR_PROTOCOL: "protocol",
    _core.ERROR_MISMATCH: "mismatch",
    _core.ERROR_PEER_LOST: "peer_lost",
}


class Error(RuntimeError):
    """A failure of a job or of an operation. The text names what has failed, where, and why.

    `code` is "input", "system", "unreachable", "refused", "closed", "timeout", "protocol", "mismatch" or "peer_lost",
    as in dtrain.h. `rank` is the rank to blame and `host` its host, or None. `cause` is the text behind them.
    """

    def __init__(self, text: str, code: str = "system", rank: int | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.rank = rank
        blamed = re.search(r"rank (\d+) \(host ([^\s,)]+)[^)]*\):? ?(.*)", text, re.S)
        self.host: str | None = blamed[2] if blamed and rank in (None, int(blamed[1])) else None
        self.cause: str = blamed[3] if blamed and blamed[3] else text

    def __reduce__(self) -> tuple[type["Error"], tuple[str, str, int | None]]:
        return type(self), (str(self), self.code, self.rank)


class ArgumentError(Error, ValueError):
    """An argument, or the place of a call, is wrong. Nothing was sent, and other ranks do not learn of it."""

    def __init__(self, text: str, code: str = "input", rank: int | None = None) -> None:
        super().__init__(text, code, rank)


def error_of(code: int, rank: int, text: str) -> Error:
    """Return the exception for a failure of libdtrain."""
    kind = ArgumentError if code == _core.ERROR_INPUT else Error
    return kind(text, _NAMES.get(code, "system"), None if rank < 0 else rank)
