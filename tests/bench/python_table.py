#!/usr/bin/env python3
"""Runs commands in alternation, and prints a Markdown table of the figures that tests/bench/python_speed.py prints.

    python_table.py ROUNDS LABEL NAME=COMMAND…

A row has the medians of the rounds in microseconds, with the lowest and the highest, and the ratios of the others to
the last command, which is the yardstick.
"""
import shlex
import statistics
import subprocess
import sys

from alternate import LINE_TIMEOUT_S, cell, measure


def figures_of(words):
    """Returns the values of the figures; None when the command fails."""
    try:
        ran = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LINE_TIMEOUT_S,
                             check=False)
    except subprocess.TimeoutExpired:
        return None
    rows = [line.split("\t") for line in ran.stdout.splitlines() if line.count("\t") == 1]
    if ran.returncode != 0 or not rows:
        sys.stderr.write(ran.stderr[-600:])
        return None
    return {figure: float(value) for figure, value in rows}


def main():
    rounds, label = int(sys.argv[1]), sys.argv[2]
    commands = {name: shlex.split(command) for name, command in (word.split("=", 1) for word in sys.argv[3:])}
    times = measure(commands, rounds, label, figures_of)
    names = list(times)
    print(f"\n| {label} | " + " | ".join(names) + "".join(f" | ratio of {name}" for name in names[:-1]) + " |")
    print("|---" * (2 * len(names)) + "|", flush=True)
    for figure in times[names[0]][0]:
        values = {name: [one[figure] for one in times[name] if figure in one] for name in names}
        medians = [statistics.median(values[name]) if values[name] else 0 for name in names]
        ratios = [f"**{median / medians[-1]:.2f}**" if medians[-1] else "-" for median in medians[:-1]]
        print(f"| {figure} | " + " | ".join(cell(values[name]) for name in names) + " | " + " | ".join(ratios) + " |",
              flush=True)


if __name__ == "__main__":
    main()
