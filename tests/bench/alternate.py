#!/usr/bin/env python3
"""Times whole commands in alternation, so that a drift of the machine's speed affects all of them alike.

    alternate.py ROUNDS LABEL NAME=COMMAND…

Each command runs once in each round, in an order that rotates, and once before that to fill the caches.
Prints the rows of a Markdown table: median, quartiles and minimum of the wall time, median of user and
system time (of the command and the children that it waited for), and the ratio of the medians to the
first command's. Failed runs are not counted; stderr has their number. A command whose first run fails
does not run again.
"""
import os
import shlex
import statistics
import sys
import time


def run_once(words, null):
    """Returns wall and CPU time in ms; None when the command fails."""
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
    begin = time.perf_counter()
    pid = os.posix_spawnp(words[0], words, os.environ, file_actions=actions)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - begin
    return (wall * 1e3, (used.ru_utime + used.ru_stime) * 1e3) if status == 0 else None


def measure(commands, rounds, label):
    null = os.open("/dev/null", os.O_RDWR)
    times = {name: [] for name in commands}
    failures = dict.fromkeys(commands, 0)
    for number in range(rounds + 1):
        names = list(times)
        turn = number % max(1, len(names))
        for name in names[turn:] + names[:turn]:
            took = run_once(commands[name], null)
            if took is None:
                failures[name] += 1
                if number == 0:
                    del times[name]
            elif number > 0:
                times[name].append(took)
    for name, count in failures.items():
        if count > 0:
            print(f"{label} {name}: failed {count} times", file=sys.stderr)
    # Quartiles need two values.
    return {name: took for name, took in times.items() if len(took) > 1}


def row(label, name, took, first):
    wall = sorted(t[0] for t in took)
    median = statistics.median(wall)
    low, _, high = statistics.quantiles(wall, n=4)
    cpu = statistics.median(t[1] for t in took)
    ratio = "-"
    if first:
        ratio = f"{median / first:.2f}" if median > first / 10 else f"{median / first:.4f}"
    return (f"| {label} | {name} | {median:.2f} | {low:.2f} - {high:.2f} | {wall[0]:.2f} | {cpu:.2f} "
            f"| {ratio} |")


def main():
    rounds, label = int(sys.argv[1]), sys.argv[2]
    commands = {name: shlex.split(command)
                for name, command in (word.split("=", 1) for word in sys.argv[3:])}
    times = measure(commands, rounds, label)
    yardstick = times.get(next(iter(commands)))
    first = statistics.median(t[0] for t in yardstick) if yardstick else None
    for name, took in times.items():
        print(row(label, name, took, first), flush=True)


if __name__ == "__main__":
    main()
