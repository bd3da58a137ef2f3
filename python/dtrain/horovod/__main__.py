"""`python -m dtrain.horovod SCRIPT ARGUMENTS`, or `-m MODULE`: runs it with Horovod's names found in this package."""

import os
import runpy
import sys

from dtrain.horovod.names import install


def main(words: list[str]) -> None:
    """Run a script, or a module, as the main program."""
    module = words[:1] == ["-m"]
    rest = words[1:] if module else words
    if not rest or (rest[0].startswith("-") and not module):
        sys.exit("usage: python -m dtrain.horovod SCRIPT [ARGUMENT…], or -m MODULE [ARGUMENT…]")
    install()
    sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "path"))
    sys.argv = rest
    if module:
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return
    sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
    runpy.run_path(rest[0], run_name="__main__")


main(sys.argv[1:])
