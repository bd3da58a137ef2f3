#!/usr/bin/env python3
"""Checks how many bytes the GPU parts add to the program and the library: gpu_growth.py BUILD BUILD_WITHOUT.

The folders have release builds: one with the GPU parts, one with DTRAIN_CUDA=OFF. The files are compared stripped, as
packages have them.
"""
import os
import sys

from elf import output_of, stripped_bytes

FILES = ("dtrain", "comm/libdtrain.so")
GROWTH_BYTES_MAX = 3_000_000


def has_kernels(file):
    return ".nv_fatbin" in output_of("readelf", "-SW", file)


def findings(name, kernels, sizes):
    """The pairs are for the build with the GPU parts, and for the one without."""
    if kernels != (True, False):
        yield f"{name}: kernels with and without the GPU parts: {kernels}; expected (True, False)"
    growth = sizes[0] - sizes[1]
    if growth > GROWTH_BYTES_MAX:
        yield f"{name}: the GPU parts add {growth} bytes; at most {GROWTH_BYTES_MAX}"


def self_test():
    good, limit = (True, False), GROWTH_BYTES_MAX
    return not list(findings("good", good, (limit + 7, 7))) and len(list(findings("large", good, (limit + 8, 7)))) == 1 \
        and len(list(findings("no kernels", (False, False), (7, 7)))) == 1


def main():
    builds = sys.argv[1:3]
    wrong = [] if self_test() else ["the rule does not refuse its samples"]
    for name in FILES:
        pair = [os.path.join(build, name) for build in builds]
        sizes = tuple(map(stripped_bytes, pair))
        print(f"{name}: {sizes[0]} bytes stripped, {sizes[1]} without the GPU parts: {sizes[0] - sizes[1]} more")
        wrong += findings(name, tuple(map(has_kernels, pair)), sizes)
    print("\n".join(wrong + [f"{len(FILES)} files, {len(wrong)} findings"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
