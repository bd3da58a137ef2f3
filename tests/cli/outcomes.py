"""Compares the outcomes that the ranks of tests/programs/random_worker.cc have written.

    outcomes.py FOLDER

In each group, the collectives without a name after the first lost one are lost, too. A rank that has the result of a
collective which needs all ranks shows that all of them had ended the collectives before it: none of those may
be lost on a rank that has survived. Groups that their members make alone are outside this order. Prints each
contradiction.
"""
import pathlib
import sys

OK, MISMATCH, LOST = 0, 8, 9
NEEDS_ALL = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "all_to_all_v", "all_gather_v",
             "barrier", "split"}


def read(path):
    """{group: [(phase, index, kind, status)]}; None for a rank that has not come to the end."""
    lines = path.read_text().splitlines()
    if not lines or lines[-1] != "end":
        return None
    groups = {}
    for line in lines[:-1]:
        group, phase, index, kind, status = line.split()
        if kind == "group":
            continue
        groups.setdefault(group, []).append((int(phase), int(index), kind, int(status)))
    return {group: sorted(calls) for group, calls in groups.items()}


def contradictions(ranks):
    for name, groups in ranks.items():
        for group, calls in groups.items():
            lost = [call for call in calls if call[3] not in (OK, MISMATCH)]
            later = [call for call in calls if lost and call > lost[0] and call[3] in (OK, MISMATCH)]
            if later:
                yield f"{name}, group {group}: {later[0]} ends after {lost[0]} was lost"
            known = [call for call in calls if call[3] == OK and call[2] in NEEDS_ALL]
            for other, theirs in ranks.items() if known else ():
                for call in theirs.get(group, ()):
                    if call[3] == LOST and call[:2] < known[-1][:2]:
                        yield f"group {group}: {name} has the result of {known[-1]}, {other} lost {call}"


def main():
    files = sorted(pathlib.Path(sys.argv[1]).glob("rank.*"))
    ranks = {path.name: read(path) for path in files}
    found = list(contradictions({name: groups for name, groups in ranks.items() if groups is not None}))
    print("\n".join(found) or f"{len(files)} ranks agree")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
