"""Tensors in memory of devices that NCCL reduces. A fake library takes the place of NCCL.

The files after this one then run by NCCL, too.
"""

import time

import device_tensors
import torch

import dtrain
import dtrain.torch as hvd


def test_nccl_takes_over_while_gradients_are_reduced():
    device_tensors.install()
    hvd.init()
    world = dtrain.init()
    tensor = device_tensors.on_device(torch.ones(1000))
    limit = time.monotonic() + 60
    taken = False
    while not taken and time.monotonic() < limit:
        tensor.fill_(1)
        hvd.allreduce_(tensor, name="gradient", op=hvd.Sum)
        assert tensor.tolist() == [hvd.size()] * 1000
        # Ranks see the change at the same operation.
        taken = world.uses_nccl
    assert taken
    handles = [hvd.allreduce_async(tensor, name=f"gradient {place}") for place in range(5)]
    assert [hvd.synchronize(handle)[0].item() for handle in handles] == [hvd.size()] * 5
