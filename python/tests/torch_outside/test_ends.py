"""Deaths, forks, signals and ends of ranks that use dtrain.torch."""

import signal
import time

import pytest
from jobs import finish, run_job, start, words_of

SCRIPT = """
import torch, warnings
import dtrain.torch as hvd
torch.set_num_threads(1)
hvd.init()
rank = hvd.rank()
model = torch.nn.Linear(4, 4)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
"""
# Without the first line of jobs.PROLOGUE's own context.
SCRIPT = "world.finalize()\n" + SCRIPT

DIES_IN = {
    "synchronize": "handle = hvd.allreduce_async(torch.ones(4), name='x'); call = lambda: hvd.synchronize(handle)",
    "broadcast_parameters": "call = lambda: hvd.broadcast_parameters(model.state_dict(), 0)",
    "step": "model(torch.ones(2, 4)).sum().backward(); call = optimizer.step",
    "barrier": "call = hvd.barrier",
}
DIES_BY = {
    "kill": ("os.kill(os.getpid(), 9)", "SIGKILL"),
    "exit": ("os._exit(3)", "status 3"),
    "exception": ("raise ZeroDivisionError('of rank 1')", "left|status 1"),
}


@pytest.mark.parametrize(
    ("where", "by"), [*((where, "kill") for where in DIES_IN), ("step", "exit"), ("step", "exception")]
)
def test_the_death_of_a_rank_raises_on_the_others(where, by):
    death, cause = DIES_BY[by]
    script = f"""{SCRIPT}
if rank == 1:
    time.sleep(0.3)
    {death}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
{DIES_IN[where]}
try:
    call()
    print("no failure")
except hvd.HorovodInternalError as error:
    import re
    print(error.rank, error.host, bool(re.search({cause!r}, str(error))), flush=True)
os._exit(0)
"""
    ended = run_job(2, script)
    assert ended.lines() == ["1 localhost True"], ended
    assert "rank 1 (host localhost" in ended.stderr
    assert by != "exception" or "ZeroDivisionError: of rank 1" in ended.stderr


def test_an_interrupt_ends_ranks_that_wait():
    script = f"""{SCRIPT}
print("ready", flush=True)
try:
    hvd.allreduce(torch.ones(2), name="x") if rank == 0 else time.sleep(30)
except KeyboardInterrupt:
    print(f"interrupted {{rank}}", flush=True)
    raise
"""
    process = start(words_of(2, script))
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    process.send_signal(signal.SIGINT)
    ended = finish(process, time.monotonic())
    assert ended.status == 130
    assert ended.lines() == ["interrupted 0", "interrupted 1"]


FORKED = """
try:
    hvd.allreduce(torch.ones(2))
except ValueError as error:
    print("fork" in str(error), flush=True)
"""


def test_a_fork_gets_a_sentence_and_its_parent_continues():
    script = f"""{SCRIPT}
child = os.fork()
if child == 0:
    {FORKED.replace(chr(10), chr(10) + "    ")}
    os._exit(0)
os.waitpid(child, 0)
print(hvd.allreduce(torch.ones(1), op=hvd.Sum).item())
"""
    ended = run_job(2, script)
    assert ended.status == 0, ended
    assert ended.lines() == ["2.0", "2.0", "True", "True"]


def test_workers_of_a_data_loader_leave_the_job_alone():
    script = f"""{SCRIPT}
if __name__ == "__main__":
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    for _ in range(2):
        loader = torch.utils.data.DataLoader(data, 2, num_workers=2, multiprocessing_context="fork")
        total = sum(batch[0].sum() for batch in loader)
        assert hvd.allreduce(total, op=hvd.Sum).item() == 56, total
    print("done")
"""
    ended = run_job(2, script)
    assert ended.status == 0, ended
    assert ended.lines() == ["done", "done"]


ENDS = {
    "operations under way": ("[hvd.allreduce_async(torch.ones(9), name=f'{rank} {i}') for i in range(100)]", 0),
    "sys.exit in a hook": (
        "model.weight.register_hook(lambda _: sys.exit(4))\nmodel(torch.ones(1, 4)).sum().backward()",
        4,
    ),
    "a daemon thread that waits": (
        "call = lambda: hvd.allreduce(torch.ones(1), name=f'{rank}')\n"
        "threading.Thread(target=call, daemon=True).start()\ntime.sleep(0.2)",
        0,
    ),
    "no shutdown": ("hvd.allreduce(torch.ones(1))", 0),
}


@pytest.mark.parametrize("what", ENDS)
def test_a_rank_ends_as_its_script_says(what):
    statement, status = ENDS[what]
    ended = run_job(2, f"{SCRIPT}\n{statement}\n")
    assert ended.status == status, ended
    assert "SIG" not in ended.stderr, ended
