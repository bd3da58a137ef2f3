"""The launcher and the library that the wheel has beside the package."""

import os
import sys

from dtrain import _core
from dtrain._errors import Error
from dtrain._version import version

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def get_include() -> str:
    """Return the folder of the headers: a program has `#include <dtrain/dtrain.h>`."""
    return os.path.join(_PACKAGE, "include")


def find_binary() -> str:
    """Return the path of the launcher that belongs to this package."""
    for path in _places():
        if os.access(path, os.X_OK):
            return path
    raise ImportError(f"the program dtrain is missing; it is expected at {' or '.join(_places())}")


def check_versions() -> None:
    """Raise ImportError where package, library and launcher are not of one version."""
    library = _core.version()
    if library != version:
        raise ImportError(
            f"the package dtrain has version {version}, but its library libdtrain.so.0 has {library}: install one of"
            " them again"
        )
    try:
        binary = find_binary()
    except ImportError:
        return  # a process on a host may need the library alone
    found = _version_of(binary)
    if found != version:
        raise ImportError(
            f"the package dtrain has version {version}, but the program {binary} has {found}: install one of them again"
        )


def check_one_library() -> None:
    """Raise Error where the process has two copies of libdtrain, which would be two ranks with one number."""
    copies = {_identity(path): path for path in _core.loaded_libraries("/libdtrain.so")}
    if len(copies) > 1:
        paths = " and ".join(sorted(copies.values()))
        raise Error(
            f"this process has two copies of libdtrain: {paths}; link other extensions with the package's own library,"
            " beside dtrain.get_include()",
            "input",
        )


def _identity(path: str) -> tuple[int, int] | str:
    try:
        found = os.stat(path)
    except OSError:
        return path  # the file was removed or renamed meanwhile
    return found.st_dev, found.st_ino


def _places() -> list[str]:
    # PREFIX/lib/python3.11/site-packages/dtrain belongs to PREFIX/bin/dtrain. `pip install --target DIR` makes
    # DIR/dtrain and DIR/bin/dtrain.
    site = os.path.dirname(_PACKAGE)
    prefix = os.path.dirname(os.path.dirname(os.path.dirname(site)))
    return list(dict.fromkeys(os.path.join(folder, "bin", "dtrain") for folder in (prefix, site, sys.prefix)))


def _version_of(binary: str) -> str:
    """Return the version that a launcher prints. The module subprocess costs more time than the launcher."""
    reader, writer = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writer, 1)]
    try:
        process = os.posix_spawn(binary, [binary, "version"], os.environ, file_actions=actions)
    except OSError as error:
        os.close(reader)
        os.close(writer)
        raise ImportError(f"the program {binary} cannot be started: {error.strerror}") from error
    os.close(writer)
    with open(reader, "rb") as output:
        text = output.read().decode(errors="replace")
    os.waitpid(process, 0)
    return text.strip().removeprefix("dtrain ") or "none"
