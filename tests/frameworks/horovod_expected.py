"""A plugin of pytest: Horovod's tests that fail here for a known cause, which horovod_expected.txt names.

    pytest -p horovod_expected test_tensorflow.py

pytest succeeds when these tests fail, and no others. A name of the list that its file does not have is an error.
"""

import sys
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Judge this run."""
    config.pluginmanager.register(Judge())


class Judge:
    """The tests that are to fail, with their causes, and those that have failed, also in a part."""

    def __init__(self) -> None:
        self.causes: dict[str, str] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(trylast=True)  # behind the selection by -k
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Find the tests of the list."""
        listed = causes_of({item.path.stem for item in items})
        for item in items:
            cause = listed.pop((item.path.stem, item.name), None)
            if cause is not None:
                self.causes[item.nodeid] = cause
        if listed and not config.option.keyword:
            raise pytest.UsageError(f"horovod_expected.txt names tests that are not there: {sorted(listed)}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed:
            self.failed.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge a run that has come to its end."""
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            as_expected = self.failed == set(self.causes)
            session.exitstatus = pytest.ExitCode.OK if as_expected else pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the verdict on each test of the list, and on each other one that has failed."""
        for test in sorted(self.failed | set(self.causes)):
            cause = self.causes.get(test)
            word = "not expected to fail" if cause is None else "as expected" if test in self.failed else "no failure"
            terminalreporter.write_line(f"{word}: {test.split('::')[-1]}{'' if cause is None else f': {cause}'}")


def causes_of(files: set[str]) -> dict[tuple[str, str], str]:
    """Return the causes of the list by file and test, for some files and the frameworks of this process."""
    words = frameworks()
    causes = {}
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        framework, file, test, cause = line.split(maxsplit=3)
        if framework in words and file in files:
            causes[file, test] = cause
    return causes


def frameworks() -> set[str]:
    """Return the imported frameworks with their versions, such as tensorflow-2.21, keras-3, numpy-2 and torch-2.15."""
    words = set()
    for name, parts in (("tensorflow", 2), ("torch", 2), ("numpy", 1)):
        module = sys.modules.get(name)
        if module is not None:
            words.add(f"{name}-{'.'.join(module.__version__.split('.')[:parts])}")
    if "tensorflow" in sys.modules:
        words.add("keras-3" if hasattr(sys.modules["tensorflow"].keras, "version") else "keras-2")
    return words
