"""A rank of dtrain.run: reads the call from stdin, and prints the result for the caller."""

import base64
import os
import sys

from dtrain import _functions
from dtrain._run import RESULT_LINE_BYTES, RESULT_MARK


def main() -> None:
    """Call the function, and print its result in lines that the caller takes out of the output."""
    content = sys.stdin.buffer.read()
    # The function finds an empty stdin.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    function, args, kwargs = _functions.unpack(content)
    result = function(*args, **kwargs)
    try:
        packed = base64.b64encode(_functions.dumps(result)).decode()
    except Exception as error:
        raise TypeError(f"the result of {function.__name__}, a {type(result).__name__}, cannot be pickled") from error
    sys.stdout.flush()
    for begin in range(0, max(1, len(packed)), RESULT_LINE_BYTES):
        sys.stdout.write(f"{RESULT_MARK}{packed[begin : begin + RESULT_LINE_BYTES]}\n")
    sys.stdout.flush()


# A process that multiprocessing spawns imports this module, too.
if __name__ == "__main__":
    main()
