#!/usr/bin/env python3
"""Checks the binary as it lies on disk: what it needs of a host, and how it is hardened.

elf.py PROGRAM. Each rule is a function from what readelf and objdump say to findings.
"""
import os
import re
import subprocess
import sys
import tempfile

# What every Linux with a C library has.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# RHEL 9 and Ubuntu 22.04 are the oldest systems that it shall run on.
GLIBC_NEWEST = (2, 34)
STRIPPED_BYTES_MAX = 20 << 20


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def stripped_bytes(program):
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped")
        subprocess.run(["strip", "-o", stripped, program], check=True)
        return os.path.getsize(stripped)


def check_libraries(program):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", program))
    if not needed:
        yield "no shared library at all: is this the program?"
    for library in sorted(set(needed) - LIBRARIES):
        yield f"needs {library}, which hosts may not have"


def check_glibc(program):
    # A version that only a weak reference asks for is no requirement.
    for line in output_of("objdump", "-T", program).splitlines():
        found = re.search(r"\(?GLIBC_(\d+)\.(\d+)", line)
        if found and (int(found[1]), int(found[2])) > GLIBC_NEWEST and " w " not in line:
            yield f"needs a newer glibc: {line.split()[-1]} of GLIBC_{found[1]}.{found[2]}"


def check_relro(program):
    if "GNU_RELRO" not in output_of("readelf", "-lW", program):
        yield "no RELRO: what the loader has filled in stays writable"
    if not re.search(r"BIND_NOW|\bNOW\b", output_of("readelf", "-dW", program)):
        yield "not bound at start: the table of functions stays writable"


def check_stack(program):
    stack = re.search(r"GNU_STACK.*?\s([RWE ]{2,3})\s+0x", output_of("readelf", "-lW", program))
    if not stack or "E" in stack[1]:
        yield "its stack is executable"


def check_segments(program):
    for line in output_of("readelf", "-lW", program).splitlines():
        if re.match(r"\s+LOAD\s.*\sRWE\s", line):
            yield "a segment can be written and executed"


def check_guards(program):
    symbols = output_of("objdump", "-T", program)
    if "__stack_chk_fail" not in symbols:
        yield "built without stack protector"
    if not re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")):
        yield "built without _FORTIFY_SOURCE"


def check_branch_targets(program):
    if "x86-64" not in output_of("objdump", "-f", program):
        return
    if "endbr64" not in output_of("objdump", "-d", "--disassemble=main", program):
        yield "built without -fcf-protection"


def check_size(program):
    size = stripped_bytes(program)
    if size >= STRIPPED_BYTES_MAX:
        yield f"{size} bytes when stripped; at most {STRIPPED_BYTES_MAX}"


def main():
    program = sys.argv[1]
    rules = [rule for name, rule in globals().items() if name.startswith("check_")]
    findings = [finding for rule in rules for finding in rule(program)]
    for finding in findings:
        print(f"{program}: {finding}")
    print(f"{len(rules)} rules, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
