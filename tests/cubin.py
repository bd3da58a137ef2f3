#!/usr/bin/env python3
"""Checks the machine code of our GPU kernels: cubin.py [--for "75 80 …"] [--ptx 90] OBJECT….

An object of nvcc has the code of a .cu file for each architecture, compressed, and PTX. Code is an ELF file with a
section for each kernel. NVIDIA's tools are not needed: the places of the few fields that the rules read were found by
comparing their output for known kernels, and are the same from sm_75 to sm_120.
"""
import argparse
import struct
import subprocess
import sys

REGISTERS_MAX = 128  # two blocks of 256 threads on a multiprocessor
LOADS_AHEAD_MIN = 2  # wide loads that a thread has on their way before it stores or jumps
# An instruction has 16 bytes. The opcode is in the lowest 12 bits, the size of an access in bits 73 to 75.
GLOBAL_LOADS, GLOBAL_STORES = {0x381, 0x981}, {0x386, 0x986}
LOCAL_ACCESSES = {0x383, 0x983, 0x387, 0x388}
JUMPS = {0x947, 0x94D}  # a branch, and the end of a thread
WIDE = 6  # 128 bits
# In .nv.info, the attributes of a function: its registers, and the bytes of its frame.
REGISTERS, FRAME = 0x2F, 0x11
# The section .nv_fatbin is a sequence of fat binaries: 16 bytes of header, then entries with a header each.
FAT_BINARY = 0xBA55ED50
PTX, MACHINE_CODE = 1, 2  # the kinds of entries
ZSTD = b"\x28\xb5\x2f\xfd"


def sections(elf):
    """(name, type, bytes) of each section."""
    if elf[:5] != b"\x7fELF\x02":
        raise ValueError("no ELF file of 64 bits")
    table, = struct.unpack_from("<Q", elf, 0x28)
    entry, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQII", elf, table + i * entry) for i in range(count)]
    text = headers[names]
    for header in headers:
        start = text[4] + header[0]
        name = elf[start:elf.index(b"\0", start)].decode()
        yield name, header[1], b"" if header[1] == 8 else elf[header[4]:header[4] + header[5]]


def unpacked(code):
    if code[:4] != ZSTD:
        return code
    return subprocess.run(["zstd", "--decompress", "--stdout"], input=code, capture_output=True, check=True).stdout


def entries(object_file):
    """(kind, architecture, bytes) of each entry of the fat binaries in an object."""
    fat = b"".join(data for name, _, data in sections(object_file) if name == ".nv_fatbin")
    at = 0
    while at + 16 <= len(fat):
        magic, _, header, size = struct.unpack_from("<IHHQ", fat, at)
        if magic != FAT_BINARY:
            raise ValueError(f"no fat binary at byte {at} of .nv_fatbin")
        at += header
        end = at + size
        while at < end:
            kind, _, header, size, packed = struct.unpack_from("<HHIQI", fat, at)
            architecture, = struct.unpack_from("<I", fat, at + 28)
            code = fat[at + header:at + header + size]
            # Padding follows a compressed file.
            yield kind, architecture, code[:packed] if packed else code
            at += header + size


def symbol_names(elf):
    found = {name: data for name, _, data in sections(elf)}
    strings = found[".strtab"]
    names = []
    for at in range(0, len(found[".symtab"]), 24):
        start, = struct.unpack_from("<I", found[".symtab"], at)
        names.append(strings[start:strings.index(b"\0", start)].decode())
    return names


def attributes(elf):
    """{(attribute, function): value} of .nv.info."""
    names, values = symbol_names(elf), {}
    for name, _, data in sections(elf):
        if name != ".nv.info":
            continue
        at = 0
        while at + 4 <= len(data):
            form, attribute, size = struct.unpack_from("<BBH", data, at)
            at += 4
            if form != 4:  # the value is in place of the size
                continue
            if size == 8:
                symbol, value = struct.unpack_from("<II", data, at)
                values[attribute, names[symbol]] = value
            at += size
    return values


def instructions(code):
    for at in range(0, len(code), 16):
        low, high = struct.unpack_from("<QQ", code, at)
        yield low & 0xFFF, high >> 9 & 7


def loads_ahead(found):
    """The most loads of 128 bits between which no store and no jump is."""
    most = now = 0
    for opcode, size in found:
        if opcode in GLOBAL_STORES | JUMPS:
            now = 0
        elif opcode in GLOBAL_LOADS and size == WIDE:
            now += 1
            most = max(most, now)
    return most


def check_kernel(name, code, values):
    found = list(instructions(code))
    ahead = loads_ahead(found)
    wide_stores = sum(opcode in GLOBAL_STORES and size == WIDE for opcode, size in found)
    if ahead < LOADS_AHEAD_MIN:
        yield f"{name}: {ahead} loads of 128 bits before a store; at least {LOADS_AHEAD_MIN}"
    if wide_stores < 1:
        yield f"{name}: no store of 128 bits"
    local = sum(opcode in LOCAL_ACCESSES for opcode, _ in found)
    if local:
        yield f"{name}: {local} accesses of local memory"
    registers = values.get((REGISTERS, name))
    if registers is None or not 0 < registers <= REGISTERS_MAX:
        yield f"{name}: {registers} registers; at most {REGISTERS_MAX}"
    if values.get((FRAME, name), 0) != 0:
        yield f"{name}: a stack frame of {values[FRAME, name]} bytes"


def check(elf):
    """(number of kernels, findings) of a cubin."""
    values, kernels, findings = attributes(elf), 0, []
    for name, _, code in sections(elf):
        if name.startswith(".text."):
            kernels += 1
            findings += check_kernel(name[len(".text."):], code, values)
    return kernels, findings


def findings_of_kinds(found, wanted, ptx):
    """Findings about the architectures of an object's entries."""
    for kind, name, want in ((MACHINE_CODE, "code", wanted), (PTX, "PTX", ptx)):
        has = " ".join(str(architecture) for of, architecture, _ in found if of == kind)
        if has != want:
            yield f"{name} for {has or 'nothing'}; wanted: {want or 'nothing'}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--for", dest="wanted", default="", help="the architectures that each object must have")
    parser.add_argument("--ptx", default="", help="the architecture of the PTX that each object must have")
    parser.add_argument("objects", nargs="+")
    arguments = parser.parse_args()
    kernels, findings = 0, []
    for path in arguments.objects:
        with open(path, "rb") as file:
            found = sorted(entries(file.read()))
        findings += [f"{path}: {finding}" for finding in findings_of_kinds(found, arguments.wanted, arguments.ptx)]
        for kind, architecture, code in found:
            if kind != MACHINE_CODE:
                continue
            count, more = check(unpacked(code))
            if count == 0:
                more = ["no kernel at all"]
            kernels += count
            findings += [f"{path}, sm_{architecture}: {finding}" for finding in more]
    print(*findings, sep="\n", end="\n" if findings else "")
    print(f"{kernels} kernels, {len(findings)} findings")
    return 1 if findings or bool(kernels) != bool(arguments.wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
