import signal
import time

import pytest
from jobs import BUSY, finish, run_job, start, words_of

# All but rank 1 wait for it, and print what they learn. They ignore the TERM by which dtrain ends a failed job.
WAIT_FOR_RANK_1 = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
world.barrier()
begin = time.monotonic()
if rank == 1:
    time.sleep(0.3)  # the others have left the barrier meanwhile
    {end}
try:
    {wait}
except dtrain.Error as error:
    took = time.monotonic() - begin
    print(rank, error.code, error.rank, error.host, "in time" if took < {limit} else took, error, flush=True)
"""


@pytest.mark.parametrize(
    "wait", ["world.all_reduce(bytes(8))", "world.barrier_async().wait()", "world.broadcast_object(1, 1)"]
)
@pytest.mark.parametrize(
    ("end", "cause"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
        ("os._exit(3)", "exit status 3"),
    ],
)
def test_other_ranks_learn_within_a_second_that_a_rank_died(end, cause, wait):
    script = WAIT_FOR_RANK_1.format(end=end, wait=wait, limit=30 if BUSY else 1.3)
    ended = run_job(3, script, "--dead-after", "60s")  # silence alone shows a death only then
    assert ended.status != 0
    assert len(ended.lines()) == 2, ended
    for rank, line in zip((0, 2), ended.lines(), strict=True):
        assert line.startswith(f"{rank} peer_lost 1 localhost in time ")
        assert cause in line
    assert "rank 1 (host localhost, pid " in ended.stderr


def test_a_python_error_is_reported_as_the_cause():
    ended = run_job(2, "if rank == 1: raise KeyError('lost key')\nworld.barrier()")
    assert ended.status == 1
    assert "dtrain:   KeyError: 'lost key'" in ended.stderr
    assert "dtrain: rank 1 (host localhost" in ended.stderr


WAITS = {
    "an operation": "world.all_reduce(bytes(8))",
    "a work": "world.barrier_async(name=str(rank)).wait()",
    "a limited wait": "world.barrier_async(name=str(rank)).wait(50)",
    "the store": "world.store.wait('never')",
    "a group": "world.group([0, 1])",
    "objects": "world.all_gather_object(1)",
}


@pytest.mark.parametrize("what", WAITS)
def test_ctrl_c_interrupts_every_rank(what):
    # Rank 1 sleeps outside libdtrain, so nothing that others wait for comes.
    script = f"""
print("waits", flush=True)
try:
    if rank == 1: time.sleep(50)
    {WAITS[what]}
except KeyboardInterrupt:
    print(time.time(), flush=True)
    raise
"""
    begin = time.monotonic()
    process = start(words_of(2, script))
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline() == "waits\n"
    time.sleep(0.2)  # the ranks begin to wait meanwhile; without, the test is weaker, and passes
    pressed = time.time()
    process.send_signal(signal.SIGINT)
    ended = finish(process, begin)
    assert ended.status == 130
    assert len(ended.lines()) == 2
    assert max(float(line) for line in ended.lines()) - pressed < (20 if BUSY else 1)
    assert "Segmentation" not in ended.stderr


def test_ctrl_c_interrupts_init():
    script = """
import dtrain, os, time
print("joins", flush=True)
dtrain.init() if os.environ["RANK"] == "0" else time.sleep(50)
"""
    begin = time.monotonic()
    words = words_of(2, "")
    process = start([*words[:-1], script])
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline() == "joins\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    ended = finish(process, begin)
    assert ended.status == 130
    assert ended.stderr.count("KeyboardInterrupt") >= 1


IN_FLIGHT = """
works = [world.all_reduce_async(bytearray(1000), name=f"{rank} {i}") for i in range(100)]
print("ready", flush=True)
"""
# The operations have other names on each rank, so none of them can end.
EXITS = {
    "end": (IN_FLIGHT, 0),
    "dropped": (IN_FLIGHT + "del works", 0),
    "sys.exit": (IN_FLIGHT + "sys.exit(5)", 5),
    "exception": (IN_FLIGHT + "raise ValueError('on purpose')", 1),
    "os._exit": (IN_FLIGHT + "os._exit(6)", 6),
    "daemon thread": (
        IN_FLIGHT + "threading.Thread(target=lambda: works[0].wait(), daemon=True).start()\ntime.sleep(0.2)",
        0,
    ),
    "daemon thread in the store": (
        IN_FLIGHT + "threading.Thread(target=lambda: world.store.wait('x'), daemon=True).start()\ntime.sleep(0.2)",
        0,
    ),
    "atexit": ("import atexit\natexit.register(sys.exit)\n" + IN_FLIGHT, 0),
    "finalize": (
        # The other rank may have left first.
        IN_FLIGHT
        + """
world.finalize()
try: works[0].wait()
except dtrain.Error as error: assert error.code in ("closed", "peer_lost")
else: os._exit(1)
""",
        0,
    ),
    "cycle": (IN_FLIGHT + "works.append(works)\ndel works, world", 0),
}


@pytest.mark.parametrize("what", EXITS)
def test_the_interpreter_ends_with_operations_under_way(what):
    script, status = EXITS[what]
    ended = run_job(2, script)
    assert ended.status == status, ended
    # The end of one rank with a failure may end the other one earlier.
    assert ended.lines() == ["ready", "ready"][: len(ended.lines()) if status else 2]
    assert ended.seconds < (30 if BUSY else 4), ended
    for fault in ("Segmentation", "terminate", "Fatal", "SIGABRT", "SIGSEGV"):
        assert fault not in ended.stderr, ended
    if what == "exception":
        assert "ValueError: on purpose" in ended.stderr
    elif status == 0 and what != "daemon thread" and "store" not in what and what != "atexit":
        assert ended.stderr == ""


def test_a_fork_cannot_use_the_context_and_its_exit_closes_nothing():
    script = """
calls = [lambda: world.all_reduce(bytes(8)), lambda: world.barrier_async(), lambda: world.store.get("a"),
         lambda: world.split(0), lambda: world.broadcast_object(1)]
pending = world.all_reduce_async(bytearray(b"1"), name="pending") if rank == 0 else None
child = os.fork()
if child == 0:
    for call in calls:
        try:
            call()
        except dtrain.Error as error:
            assert "fork" in str(error), error
        else:
            os._exit(1)
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
if rank == 1: pending = world.all_reduce_async(bytearray(b"1"), name="pending")
assert bytes(pending.wait()) == b"b"
print(world.all_gather_object(rank), flush=True)
"""
    ended = run_job(2, script)
    assert ended.status == 0, ended
    assert ended.lines() == ["[0, 1]"] * 2


def test_multiprocessing_workers_leave_the_job_alone():
    script = """
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
world.barrier()
print("done", flush=True)
"""
    ended = run_job(2, script)
    assert ended.status == 0, ended
    assert ended.lines() == ["done", "done"]


def test_threads_submit_and_wait_while_python_runs():
    script = """
counted = 0
def work(number):
    for i in range(50):
        assert bytes(world.all_reduce(b"1", name=f"{number} {i}")) == b"b"
def count():
    global counted
    while any(thread.is_alive() for thread in threads):
        counted += 1
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
counter = threading.Thread(target=count)
for thread in [*threads, counter]: thread.start()
for thread in [*threads, counter]: thread.join()
late = world.barrier_async()
if rank == 1: time.sleep(0.3)
before = counted
def count_more():
    global counted
    for _ in range(1000): counted += 1
counter = threading.Thread(target=count_more); counter.start()
late.wait(); counter.join()
assert counted == before + 1000
print("done", flush=True)
"""
    ended = run_job(2, script)
    assert ended.status == 0, ended
    assert ended.lines() == ["done", "done"]


def test_a_process_leaves_and_joins_no_second_time():
    ended = run_job(2, "world.barrier()\nworld.finalize()\nworld.finalize()\nprint('left')")
    assert ended.status == 0, ended
    assert ended.lines() == ["left", "left"]
