#!/usr/bin/env python3
"""Horovod's calls of dtrain on tensors of a GPU: dtrain run -np 2 --gpu-share python3 hvd_cuda.py

Compares results with the exact numbers, on the default stream and on another one. Prints medians of times.
"""
import statistics
import sys
import time

import torch

import dtrain.torch as hvd

SIZES = (1, 1000, 1 << 20)
TIMED_SIZES = (1 << 10, 1 << 18, 6 << 20, 25 << 20)


def values(rank, size, dtype):
    """Small whole numbers, so that sums have no rounding."""
    return ((torch.arange(size, device="cuda") + 5 * rank) % 13).to(dtype)


def expect(what, result, expected):
    if not result.is_cuda:
        sys.exit(f"{what}: the result is on {result.device}")
    if not torch.equal(result, expected):
        sys.exit(f"{what}: {int((result != expected).sum())} of {result.numel()} elements differ")


def check(where):
    for dtype in (torch.float32, torch.bfloat16, torch.int32):
        for size in SIZES:
            what = f"{where}, {size} elements of {dtype}"
            all_values = [values(rank, size, dtype) for rank in range(hvd.size())]
            mine = all_values[hvd.rank()]
            total = torch.stack(all_values).sum(0).to(dtype)
            expect(f"allreduce, {what}", hvd.allreduce(mine, op=hvd.Sum), total)
            expect(f"allgather, {what}", hvd.allgather(mine), torch.cat(all_values))
            expect(f"broadcast, {what}", hvd.broadcast(mine, root_rank=1), all_values[1])
            grouped = hvd.grouped_allreduce([mine, 2 * mine], op=hvd.Sum)
            expect(f"grouped_allreduce, {what}", grouped[1], 2 * total)
            expect(f"allreduce_, {what}", hvd.allreduce_(mine.clone(), op=hvd.Sum), total)


def time_ms(tensor):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    hvd.allreduce(tensor, op=hvd.Sum, name="timed")
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3


def main():
    begin = time.monotonic()
    hvd.init()
    check("default stream")
    with torch.cuda.stream(torch.cuda.Stream()):
        check("another stream")
    if hvd.rank() == 0:
        print(f"results are exact, after {time.monotonic() - begin:.1f} s")
    for elements in TIMED_SIZES:
        tensor = torch.rand(elements, device="cuda")
        times = [time_ms(tensor) for _ in range(9)][2:]
        if hvd.rank() == 0:
            print(f"hvd.allreduce of {elements * 4 / 2**20:.3f} MiB: median {statistics.median(times):.3f} ms "
                  f"({min(times):.3f} to {max(times):.3f})", flush=True)
    hvd.shutdown()


main()
