"""Deaths, forks, signals and ends of ranks that use dtrain.torch."""

import signal
import time

import pytest
from jobs import finish, run_job, run_python, start, words_of

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
    "backward": "leaf = torch.ones(2, requires_grad=True)\n"
    "leaf.register_hook(lambda own: hvd.allreduce(own, name='x'))\n"
    "call = (2 * leaf).sum().backward",
}
DIES_BY = {
    "kill": ("os.kill(os.getpid(), 9)", "SIGKILL"),
    "exit": ("os._exit(3)", "status 3"),
    "exception": ("raise ZeroDivisionError('of rank 1')", "left|status 1"),
    "no memory": ("torch.empty(1 << 60, dtype=torch.uint8)", "left|status 1"),
}


@pytest.mark.parametrize(
    ("where", "by"),
    [
        *((where, "kill") for where in DIES_IN),
        *((where, by) for where in ("step", "backward") for by in ("exit", "exception", "no memory")),
    ],
)
def test_the_death_of_a_rank_raises_on_the_others(where, by):
    death, cause = DIES_BY[by]
    # dtrain ends the others soon after a death. They are ready for that before it.
    script = f"""{SCRIPT}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
hvd.barrier()
if rank == 1:
    time.sleep(0.3)
    {death}
{DIES_IN[where]}
try:
    call()
    print("no failure", flush=True)
except hvd.HorovodInternalError as error:
    import re
    print(error.rank, error.host, bool(re.search({cause!r}, str(error))), flush=True)
os._exit(0)
"""
    ended = run_job(2, script)
    assert ended.lines() == ["1 localhost True"], ended
    assert "rank 1 (host localhost" in ended.stderr
    assert by != "exception" or "ZeroDivisionError: of rank 1" in ended.stderr
    assert by != "no memory" or "DefaultCPUAllocator: can't allocate memory" in ended.stderr


def test_an_interrupt_ends_ranks_that_wait():
    script = f"""{SCRIPT}
try:
    print("ready", flush=True)
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
ones = torch.ones(2)
calls = [
    lambda: hvd.allreduce(ones), lambda: hvd.allreduce_async_(ones), lambda: hvd.grouped_allreduce([ones]),
    lambda: hvd.sparse_allreduce_async(ones.to_sparse(), "x", hvd.Sum), lambda: hvd.allgather(ones),
    lambda: hvd.grouped_allgather_async([ones]), lambda: hvd.broadcast(ones, 0), lambda: hvd.broadcast_(ones, 0),
    lambda: hvd.alltoall(ones), lambda: hvd.reducescatter(ones), lambda: hvd.grouped_reducescatter([ones]),
    hvd.join, hvd.barrier, lambda: hvd.broadcast_object(1), lambda: hvd.allgather_object(1),
    lambda: hvd.broadcast_parameters(model.state_dict(), 0), lambda: hvd.broadcast_optimizer_state(optimizer, 0),
    lambda: hvd.add_process_set([0]), lambda: hvd.synchronize(pending),
    lambda: model(torch.ones(1, 4)).sum().backward(),
]
def refused(call):
    try:
        call()
    except ValueError as error:
        return "fork" in str(error)
    return False
print([number for number, call in enumerate(calls) if not refused(call)], flush=True)
"""


def test_a_fork_gets_a_sentence_and_its_parent_continues():
    script = f"""{SCRIPT}
pending = hvd.allreduce_async(torch.ones(1), name=f"of {{rank}} alone")
child = os.fork()
if child == 0:
    {FORKED.replace(chr(10), chr(10) + "    ")}
    os._exit(0)
os.waitpid(child, 0)
print(hvd.allreduce(torch.ones(1), op=hvd.Sum).item())
"""
    ended = run_job(2, script)
    assert ended.status == 0, ended
    assert ended.lines() == ["2.0", "2.0", "[]", "[]"]


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_workers_of_a_data_loader_leave_the_job_alone(method):
    script = f"""{SCRIPT}
hvd.shutdown()
data = torch.utils.data.TensorDataset(torch.arange(8.0))
options = {{"num_workers": 1, "multiprocessing_context": "{method}", "persistent_workers": True}}
before = torch.utils.data.DataLoader(data, 2, **options)
assert sum(batch[0].sum() for batch in before) == 28
hvd.init()
after = torch.utils.data.DataLoader(data, 2, **options)
for loader in (before, after, before):
    total = sum(batch[0].sum() for batch in loader)
    assert hvd.allreduce(total, op=hvd.Sum).item() == 56, total
print("done")
"""
    ended = run_job(2, script)
    assert ended.status == 0, ended
    assert ended.lines() == ["done", "done"]


ENDS = {
    "operations under way": ("[hvd.allreduce_async(torch.ones(9), name=f'{rank} {i}') for i in range(100)]", 0),
    "an exception in backward": (
        "model.weight.register_hook(lambda _: [hvd.allreduce_async(torch.ones(9), name=f'{rank} {i}')"
        " for i in range(100)] and 1 / 0)\nmodel(torch.ones(1, 4)).sum().backward()",
        1,
    ),
    "os._exit": ("[hvd.allreduce_async(torch.ones(9), name=f'{rank} {i}') for i in range(100)]\nos._exit(6)", 6),
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
    # After the first failure, dtrain ends a rank that is not as far yet.
    crashes = ended.stderr.replace("killed by SIGTERM (sent by dtrain", "")
    assert "SIG" not in crashes, ended


def test_any_thread_submits_and_waits():
    script = f"""{SCRIPT}
def work(number):
    handles = [hvd.allreduce_async(torch.ones(3), name=f"{{number}} {{i}}", op=hvd.Sum) for i in range(50)]
    mine.append([hvd.synchronize(handle)[0].item() for handle in handles] == [2] * 50)
mine = []
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
handle = hvd.allreduce_async(torch.ones(1), name="of the main thread")
waiter = threading.Thread(target=lambda: mine.append(hvd.synchronize(handle).item() == 1))
waiter.start(); waiter.join()
print(mine == [True] * 5)
"""
    ended = run_job(2, script)
    assert ended.lines() == ["True", "True"], ended


def test_a_tensor_that_a_rank_lacks_is_named():
    script = f"""{SCRIPT}
hvd.barrier()
hvd.allreduce(torch.ones(2), name="lonely") if rank == 0 else time.sleep(50)
"""
    process = start(words_of(2, script, "--stall-report", "1s"))
    assert process.stderr is not None
    message = ""
    while not ("lonely" in message and "rank 1" in message):
        line = process.stderr.readline()
        assert line, message
        message += line
    process.send_signal(signal.SIGINT)
    assert finish(process, time.monotonic()).status == 130


def test_a_rank_that_raises_ends_the_job_of_the_backend():
    script = """
world.finalize()
import torch, torch.distributed as dist, dtrain.torch.distributed
signal.signal(signal.SIGTERM, signal.SIG_IGN)
dist.init_process_group("dtrain")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
if rank == 1: raise KeyError("lost key")
try: model(torch.ones(1, 2)).sum().backward(); dist.barrier()
except RuntimeError as error: print("rank 1 (host localhost" in str(error), flush=True)
os._exit(0)
"""
    ended = run_job(2, script)
    assert ended.lines() == ["True"], ended
    assert "dtrain:   KeyError: 'lost key'" in ended.stderr


def test_the_end_of_a_script_waits_for_a_callback_that_has_begun():
    script = """
world.finalize()
import torch, torch.distributed as dist, dtrain.torch.distributed, threading, time
dist.init_process_group("dtrain")
begun, sent = threading.Event(), torch.ones(2)
def callback(done):
    begun.set()
    time.sleep(1)
    print("ended", flush=True)
    return done.value()
if rank == 1:
    time.sleep(1)  # the work of rank 0 is not done before its callback is there
work = dist.all_reduce(sent, async_op=True)
later = work.get_future().then(callback)
begun.wait()
"""
    ended = run_job(2, script)
    assert ended.lines() == ["ended"] * 2, ended
    assert ended.status == 0, ended


BACKEND = """
import torch, datetime
import torch.distributed as dist
import dtrain.torch.distributed, dtrain.torch as hvd
one = torch.ones(1)
"""


@pytest.mark.parametrize("first", ["dtrain.init()", "hvd.init()", "dist.init_process_group('dtrain')"])
def test_all_ways_of_init_may_be_in_one_script(first):
    script = f"""world.finalize()
{BACKEND}
{first}
hvd.init()
if not dist.is_initialized(): dist.init_process_group("dtrain")
total = one.clone()
dist.all_reduce(total)
print(total.item(), hvd.allreduce(one, op=hvd.Sum).item(), dtrain.init().all_reduce(one).item())
"""
    ended = run_job(2, script)
    assert ended.lines() == ["2.0 2.0 2.0"] * 2, ended
    assert ended.status == 0, ended


def test_some_ranks_of_a_world_of_gloo_make_a_group_once_all_have_joined():
    script = f"""world.finalize()
{BACKEND}
dist.init_process_group("gloo")
try: dist.new_group([0, 1], backend="dtrain")
except dtrain.Error as error: print("call dtrain.init() on every rank" in str(error))
"""
    ended = run_job(3, script)
    assert ended.lines() == ["True", "True"], ended
    script = f"""{BACKEND}
dist.init_process_group("gloo")
group = dist.new_group([2, 1], backend="dtrain")
total = one * rank
if rank: dist.all_reduce(total, group=group)
print(total.item())
"""
    ended = run_job(3, script)
    assert ended.lines() == ["0.0", "3.0", "3.0"], ended


def test_a_process_that_no_launcher_has_started_learns_which_one_would():
    script = f"""{BACKEND}
import tempfile
store = dist.FileStore(tempfile.mktemp(), 1)
dist.init_process_group("dtrain", store=store, rank=1, world_size=2)
"""
    ended = run_python(script.replace("import dtrain.torch", "import dtrain, dtrain.torch"))
    assert "start the script by `dtrain run -np 2`" in ended.stderr, ended
