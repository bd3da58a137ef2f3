#!/usr/bin/env python3
"""Runs CTest, and ends with the skipped parts, each with its reason, and a line of counts.

`run_tests.py PREFIX CTEST-ARGUMENT…` prints PREFIX and `N passed, N failed, N skipped` as its last line. A test file may
skip some of its functions (tests/cli/lib.sh), so the skipped parts are counted beside the files that passed.
"""

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

SKIPPED = re.compile(r"^skipped: (.*)", re.M)


def parts_of(case):
    """Return the outcome of one test, and its skipped parts."""
    name = case.get("name")
    skipped = [f"{name}: {part}" for part in SKIPPED.findall(case.findtext("system-out") or "")]
    if case.find("failure") is not None or case.get("status") == "fail":
        return "failed", []
    if case.find("skipped") is not None:
        return "skipped", skipped or [name]
    return "passed", skipped


def main():
    prefix, *arguments = sys.argv[1:]
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        # Without the size, a passed test keeps only the beginning of its output.
        command = ["ctest", *arguments, "--output-junit", report.name, "--test-output-size-passed", "1000000"]
        status = subprocess.call(command)
        cases = ElementTree.parse(report.name).getroot().iter("testcase")
        results = [parts_of(case) for case in cases]
    skipped = [part for _, parts in results for part in parts]
    outcomes = [outcome for outcome, _ in results]
    if skipped:
        print("\nSkipped:")
        print("\n".join(f"  {part}" for part in skipped))
    passed, failed = outcomes.count("passed"), outcomes.count("failed")
    print(f"\n{prefix}{passed} passed, {failed} failed, {len(skipped)} skipped", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
