"""Ends after its first sum over all ranks: first_all_reduce.py horovod|torch."""
import sys

import torch

if sys.argv[1] == "horovod":
    import horovod.torch as hvd

    hvd.init()
    size, total = hvd.size(), hvd.allreduce(torch.ones(1), op=hvd.Sum)
    hvd.shutdown()
else:
    import torch.distributed

    torch.distributed.init_process_group("gloo")
    size, total = torch.distributed.get_world_size(), torch.ones(1)
    torch.distributed.all_reduce(total)
    torch.distributed.destroy_process_group()
assert total.item() == size
