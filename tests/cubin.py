#!/usr/bin/env python3
"""Checks the machine code of our GPU kernels: cubin.py FILE….

A file is the code of one .cu file for one architecture, an ELF file with a section for each kernel. NVIDIA's
disassembler is not needed: the places of the few fields that the rules read were found by comparing its output for
known kernels, and are the same from sm_75 to sm_120.
"""
import struct
import sys

REGISTERS_MAX = 128  # two blocks of 256 threads on a multiprocessor
# An instruction has 16 bytes. The opcode is in the lowest 12 bits, the size of an access in bits 73 to 75.
GLOBAL_LOADS, GLOBAL_STORES = {0x381, 0x981}, {0x386, 0x986}
LOCAL_ACCESSES = {0x383, 0x983, 0x387, 0x388}
WIDE = 6  # 128 bits
# In .nv.info, the attributes of a function: its registers, and the bytes of its frame.
REGISTERS, FRAME = 0x2F, 0x11


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


def check_kernel(name, code, values):
    found = list(instructions(code))
    wide_loads = sum(opcode in GLOBAL_LOADS and size == WIDE for opcode, size in found)
    wide_stores = sum(opcode in GLOBAL_STORES and size == WIDE for opcode, size in found)
    if wide_loads < 2:  # the main loop has several accesses on their way
        yield f"{name}: {wide_loads} loads of 128 bits"
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


def main():
    kernels, findings = 0, []
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            count, found = check(file.read())
        if count == 0:
            found = ["no kernel at all"]
        kernels += count
        findings += [f"{path}: {finding}" for finding in found]
    print(*findings, sep="\n", end="\n" if findings else "")
    print(f"{kernels} kernels, {len(findings)} findings")
    return 1 if findings or kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
