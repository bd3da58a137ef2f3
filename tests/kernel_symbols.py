#!/usr/bin/env python3
"""Checks that no kernel leaves code for others: kernel_symbols.py OBJECT…, all objects of base/.

The linker keeps one copy of an inline function that several files define. Were it the copy of a file for
AVX-512, then older CPUs would run it, too, and end with SIGILL. So these files define one symbol each, their
KernelSet, and call no function of others but the compiler's own.
"""
import os
import re
import subprocess
import sys

KERNELS = {"avx512.cc.o", "avx2.cc.o", "portable.cc.o"}
COMPILERS_OWN = re.compile(r"__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|mem(cpy|set|move)")


def findings(name, symbols):
    """`symbols` has the lines of nm: an address, where there is one, a kind and a name."""
    wanted = f"dt::{name.split('.')[0]}_kernels"
    found = False
    for line in symbols:
        kind, symbol = re.fullmatch(r"(?:[0-9a-f]+)? +(\S) (.*)", line).groups()
        if kind in "UwvA" and COMPILERS_OWN.match(symbol):
            continue
        if symbol == wanted and kind in "DR":
            found = True
        elif kind not in "trdba":
            yield f"{name}: {kind} {symbol}"
    if not found:
        yield f"{name}: no {wanted}"


def self_test():
    good = ["0000 D dt::avx2_kernels", "0000 t dt::loop()", "     U __stack_chk_fail"]
    bad = good + ["0000 W float dt::to_float(dt::Float16)", "     U std::terminate()"]
    return not list(findings("avx2.cc.o", good)) and len(list(findings("avx2.cc.o", bad))) == 2 \
        and len(list(findings("avx2.cc.o", []))) == 1


def main():
    objects = [path for path in sys.argv[1:] if "/kernels/" in path and os.path.basename(path) in KERNELS]
    wrong = [] if self_test() else ["the rule does not refuse its samples"]
    if not any(path.endswith("portable.cc.o") for path in objects):
        wrong.append("no object of the portable kernels: are these the objects of base/?")
    for path in objects:
        symbols = subprocess.run(["nm", "-C", path], check=True, capture_output=True, text=True).stdout
        wrong += findings(os.path.basename(path), symbols.splitlines())
    print("\n".join(wrong + [f"{len(objects)} objects, {len(wrong)} findings"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
