"""A script for Horovod that continues from its checkpoint, which rank 0 writes after each step.

Rank 1 kills itself in two steps, each in another life of the job, if KILLS is set. Before that, the hostfile becomes
that of the next life, if there is one.
"""
import os
import signal

import horovod.torch as hvd
import torch

STEPS = 12
CHECKPOINT = "checkpoint.pt"
KILLED_AT = {0: 4, 1: 8}  # by restart count


def load(network, optimizer):
    if hvd.rank() == 0 and os.path.exists(CHECKPOINT):
        saved = torch.load(CHECKPOINT)
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        return saved["step"]
    return 0


def save(step, network, optimizer):
    state = {"step": step, "network": network.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, CHECKPOINT + ".part")
    os.rename(CHECKPOINT + ".part", CHECKPOINT)


def main():
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    hvd.init()
    assert hvd.size() == int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    torch.manual_seed(hvd.rank())  # so that the broadcast has something to do
    network = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.5)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=network.named_parameters())
    first = hvd.broadcast_object(load(network, optimizer), root_rank=0)
    hvd.broadcast_parameters(network.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    for step in range(first, STEPS):
        if "KILLS" in os.environ and hvd.rank() == 1 and KILLED_AT.get(restarts) == step:
            if os.path.exists(f"hosts.{restarts + 1}"):
                os.rename(f"hosts.{restarts + 1}", "hosts")
            os.kill(os.getpid(), signal.SIGKILL)
        inputs = torch.randn(16, 8, generator=torch.Generator().manual_seed(2 * step + hvd.rank()))
        optimizer.zero_grad()
        loss = (network(inputs) - inputs.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        if hvd.rank() == 0:
            save(step + 1, network, optimizer)
            print(f"restart {restarts}, step {step}: loss {loss.item():.6f}", flush=True)
        hvd.allreduce(torch.zeros(1), name="barrier")  # the checkpoint is there


main()
