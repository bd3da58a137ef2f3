"""A script for torchrun's --max-restarts: it continues from its checkpoint.

Rank 1 kills itself in two steps, each in another life of the job, if KILLS is set.
"""
import os
import signal

import torch
import torch.distributed

STEPS = 12
CHECKPOINT = "checkpoint.pt"
KILLED_AT = {0: 4, 1: 8}  # by restart count


def load(network, optimizer):
    if not os.path.exists(CHECKPOINT):
        return 0
    saved = torch.load(CHECKPOINT)
    network.load_state_dict(saved["network"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["step"]


def save(step, network, optimizer):
    state = {"step": step, "network": network.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, CHECKPOINT + ".part")
    os.rename(CHECKPOINT + ".part", CHECKPOINT)


def main():
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.5)
    for step in range(load(network, optimizer), STEPS):
        if "KILLS" in os.environ and rank == 1 and KILLED_AT.get(restarts) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        inputs = torch.randn(16, 8, generator=torch.Generator().manual_seed(2 * step + rank))
        optimizer.zero_grad()
        loss = (network(inputs) - inputs.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        if rank == 0:
            save(step + 1, network, optimizer)
            print(f"restart {restarts}, step {step}: loss {loss.item():.6f}", flush=True)
        torch.distributed.barrier()  # the checkpoint is there
    torch.distributed.destroy_process_group()


main()
