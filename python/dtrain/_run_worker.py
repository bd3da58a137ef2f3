"""A rank of dtrain.run: reads the call from stdin, and writes the result for the caller."""

import os
import sys

from dtrain import _functions


def main() -> None:
    """Call the function, and write its result to the descriptor that the job has for it."""
    # Children of the function have no part in the result.
    result_fd = int(os.environ.pop("DTRAIN_RESULT_FD"))
    os.set_inheritable(result_fd, False)
    content = sys.stdin.buffer.read()
    # The function finds an empty stdin.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    function, args, kwargs = _functions.unpack(content)
    result = function(*args, **kwargs)
    try:
        packed = _functions.dumps(result)
    except Exception as error:
        raise TypeError(f"the result of {function.__name__}, a {type(result).__name__}, cannot be pickled") from error
    with open(result_fd, "wb") as file:
        file.write(packed)
