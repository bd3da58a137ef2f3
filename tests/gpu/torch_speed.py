#!/usr/bin/env python3
"""Packs and sums tensors on a GPU by PyTorch, for a comparison with the kernels of this project.

The cases are those of scheme_speed and `device_check speed`. Prints medians and quartiles.
"""
import statistics

import torch

ROUNDS = 51
CASES = {
    "64 tensors of 1 B to 4 MB": [(1 << i % 23) + i % 3 for i in range(64)],
    "4096 tensors of 4 KB": [4096] * 4096,
    "161 tensors of 635 KB": [634_816] * 161,
    "4 tensors of 256 MB": [256 << 20] * 4,
}


def time_us(call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000


def show(case, name, moved_bytes, calls):
    """Measures the calls in turn. Each has memory of its own, so that no cache has it."""
    times = [time_us(calls[i % len(calls)]) for i in range(ROUNDS + len(calls))][len(calls):]
    low, median, high = statistics.quantiles(times, n=4)
    print(f"| {case} | {name} | {median:.1f} ({low:.1f} to {high:.1f}) | {moved_bytes / median / 1000:.0f} |")


def sets_beyond_the_cache(moved_bytes):
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    return 1 + 4 * cache // moved_bytes


def measure_packing():
    for case, sizes in CASES.items():
        moved = 2 * sum(sizes)
        copies, concatenations = [], []
        for _ in range(sets_beyond_the_cache(moved)):
            sources = [torch.randint(256, (size,), dtype=torch.uint8, device="cuda") for size in sizes]
            packed = torch.empty(sum(sizes), dtype=torch.uint8, device="cuda")
            places = list(packed.split(sizes))
            copies.append(lambda places=places, sources=sources: torch._foreach_copy_(places, sources))
            concatenations.append(lambda packed=packed, sources=sources: torch.cat(sources, out=packed))
        show(case, "torch._foreach_copy_", moved, copies)
        show(case, "torch.cat", moved, concatenations)


def measure_sums():
    size = 256 << 20
    for dtype in (torch.float32, torch.bfloat16):
        for arrays in (2, 4, 8):
            stacked = torch.randn(arrays, size // dtype.itemsize, dtype=dtype, device="cuda")
            into = torch.empty_like(stacked[0])

            def chain(stacked=stacked, into=into):
                torch.add(stacked[0], stacked[1], out=into)
                for array in stacked[2:]:
                    into.add_(array)

            case = f"{arrays} arrays of 256 MiB, {str(dtype).removeprefix('torch.')}"
            moved = (arrays + 1) * size
            show(case, "sum(0)", moved, [lambda stacked=stacked, into=into: torch.sum(stacked, 0, out=into)])
            show(case, "a chain of add_", moved, [chain])


print(f"PyTorch {torch.__version__}\n\n| tensors | by | µs, median (quartiles) | GB/s, of one reading and writing |")
print("|---|---|---|---|")
measure_packing()
measure_sums()
