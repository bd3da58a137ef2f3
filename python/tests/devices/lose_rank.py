"""The last rank ends while others wait for its gradient in memory of a device. They print the error."""

import os

import cpu_device
import device_tensors
import torch

import dtrain.torch as hvd

device_tensors.install()
hvd.init()
tensor = device_tensors.on_device(torch.ones(1000))
assert hvd.allreduce(tensor, op=hvd.Sum)[0] == hvd.size()
lost = hvd.size() - 1
if hvd.rank() == lost:
    os._exit(0)
with cpu_device.held():
    handle = hvd.allreduce_async_(tensor, op=hvd.Sum)
try:
    hvd.synchronize(handle)
except hvd.HorovodInternalError as error:
    print(f"rank {hvd.rank()}: {error.code}, rank {error.rank}")
