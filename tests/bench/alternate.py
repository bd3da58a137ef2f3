#!/usr/bin/env python3
"""Times whole commands in alternation, so that a drift of the machine's speed affects all of them alike.

    alternate.py ROUNDS LABEL NAME=COMMAND…
    alternate.py --lines ROUNDS LABEL NAME=COMMAND…
    alternate.py --probe PROBE ROUNDS LABEL NAME=COMMAND…

Each command runs once in each round, in an order that rotates, and once before that to fill the caches.
Without --lines, prints the rows of a Markdown table: median, quartiles and minimum of the wall time, median of user and
system time (of the command and the children that it waited for), and the ratio of the medians to the
first command's. Failed runs are not counted; stderr has their number. A command whose first run fails
does not run again.

With --lines, each command prints lines as `dtrain bench --format peers` does. Prints a whole Markdown table,
a row for each size: medians of p50 over the rounds with minimum and maximum, and the ratios of the first
command to the fastest of the others, by medians and by minima. Lines with wrong results do not count.

With --probe, does the same for each distance of the two cores. The command PROBE prints it before and after each run. A
run during which it changed does not count.
"""
import os
import shlex
import statistics
import subprocess
import sys
import time

LINE_FIELDS = 12
LINE_TIMEOUT_S = 300
# Distances whose ratio is less are one.
SAME_DISTANCE = 1.6


def run_once(words, null):
    """Returns wall and CPU time in ms; None when the command fails."""
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
    begin = time.perf_counter()
    pid = os.posix_spawnp(words[0], words, os.environ, file_actions=actions)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - begin
    return (wall * 1e3, (used.ru_utime + used.ru_stime) * 1e3) if status == 0 else None


def run_for_lines(words):
    """Returns p50 in us by size; None when the command fails or a result is wrong."""
    try:
        ran = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=LINE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    rows = [row for row in rows if len(row) == LINE_FIELDS]
    if ran.returncode != 0 or not rows or any(row[11] != "0" for row in rows):
        sys.stderr.write(ran.stderr[-600:])
        return None
    return {int(row[3]): float(row[6]) for row in rows}


def at_distance(probe, words):
    """Returns the distance of the cores, and what run_for_lines() does; None if the distance changed."""
    before, took, after = probed(probe), run_for_lines(words), probed(probe)
    if took is None:
        return None
    if max(before, after) > SAME_DISTANCE * min(before, after):
        return (0.0, {})
    return (min(before, after), took)


def probed(probe):
    return float(subprocess.run(probe, capture_output=True, text=True, check=True).stdout)


def print_distances(label, times):
    """times: for each command, a distance and a dict of each round."""
    distances = sorted({distance for rounds in times.values() for distance, took in rounds if took})
    while distances:
        low = distances[0]
        same = [distance for distance in distances if distance <= SAME_DISTANCE * low]
        distances = distances[len(same):]
        middle = statistics.median(same)
        print_lines(f"{label}, {middle:.2f} us from core to core", {
            name: [took for distance, took in rounds if low <= distance <= same[-1]]
            for name, rounds in times.items()})


def measure(commands, rounds, label, run):
    times = {name: [] for name in commands}
    failures = dict.fromkeys(commands, 0)
    for number in range(rounds + 1):
        names = list(times)
        turn = number % max(1, len(names))
        for name in names[turn:] + names[:turn]:
            took = run(commands[name])
            if took is None:
                failures[name] += 1
                if number == 0:
                    del times[name]
            elif number > 0:
                times[name].append(took)
    for name, count in failures.items():
        if count > 0:
            print(f"{label} {name}: failed {count} times", file=sys.stderr)
    return {name: took for name, took in times.items() if took}


def row(label, name, took, first):
    wall = sorted(t[0] for t in took)
    median = statistics.median(wall)
    # Quartiles need two values.
    low, _, high = statistics.quantiles(wall * 2 if len(wall) == 1 else wall, n=4)
    cpu = statistics.median(t[1] for t in took)
    ratio = "-"
    if first:
        ratio = f"{median / first:.2f}" if median > first / 10 else f"{median / first:.4f}"
    return (f"| {label} | {name} | {median:.2f} | {low:.2f} - {high:.2f} | {wall[0]:.2f} | {cpu:.2f} "
            f"| {ratio} |")


def size_text(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def short(number):
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def cell(rounds):
    return f"{short(statistics.median(rounds))} ({short(min(rounds))} - {short(max(rounds))})" if rounds else "-"


def print_lines(label, times):
    """times: for each command, a dict of each round."""
    names = list(times)
    print(f"\n| {label} | " + " | ".join(names) + " | ratio | of best rounds |")
    print("|---" * (len(names) + 3) + "|")
    for size in sorted({size for rounds in times.values() for one in rounds for size in one}):
        of = {name: [one[size] for one in rounds if size in one] for name, rounds in times.items()}
        others = [of[name] for name in names[1:] if of[name]]
        ratios = ["-", "-"]
        if others and of[names[0]]:
            ratios = [f"{how(of[names[0]]) / min(how(other) for other in others):.2f}"
                      for how in (statistics.median, min)]
        print(f"| {size_text(size)} | " + " | ".join(cell(of[name]) for name in names)
              + f" | **{ratios[0]}** | {ratios[1]} |", flush=True)


def main():
    words = sys.argv[1:]
    lines = words[0] == "--lines"
    probe = shlex.split(words[1]) if words[0] == "--probe" else None
    words = words[2:] if probe else words[1:] if lines else words
    rounds, label = int(words[0]), words[1]
    commands = {name: shlex.split(command) for name, command in (word.split("=", 1) for word in words[2:])}
    if probe:
        print_distances(label, measure(commands, rounds, label, lambda command: at_distance(probe, command)))
        return
    if lines:
        print_lines(label, measure(commands, rounds, label, run_for_lines))
        return
    null = os.open("/dev/null", os.O_RDWR)
    times = measure(commands, rounds, label, lambda command: run_once(command, null))
    yardstick = times.get(next(iter(commands)))
    first = statistics.median(t[0] for t in yardstick) if yardstick else None
    for name, took in times.items():
        print(row(label, name, took, first), flush=True)


if __name__ == "__main__":
    main()
