"""Checks that DistributedDataParallel has the gradients of one process with the whole batch."""
import os

import torch
import torch.distributed as distributed

distributed.init_process_group("gloo")
rank, size = distributed.get_rank(), distributed.get_world_size()
# The variables of torchrun.
assert (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])) == (rank, size)
local_rank, local_size = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
assert rank == int(os.environ["GROUP_RANK"]) * local_size + local_rank

torch.set_num_threads(1)
torch.manual_seed(7)
inputs, targets = torch.randn(24, 5), torch.randn(24, 3)
alone = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
together = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
if rank == 0:
    together.load_state_dict(alone.state_dict())  # the other ranks receive it from rank 0
parallel = torch.nn.parallel.DistributedDataParallel(together)
torch.nn.functional.mse_loss(alone(inputs), targets).backward()
torch.nn.functional.mse_loss(parallel(inputs[rank::size]), targets[rank::size]).backward()
for one, other in zip(alone.parameters(), together.parameters()):
    assert one.grad.abs().max() > 1e-3
    assert torch.allclose(one.grad, other.grad, rtol=1e-4, atol=1e-7), (one.grad, other.grad)
print(f"rank {rank} of {size} has the same gradients")
distributed.destroy_process_group()
