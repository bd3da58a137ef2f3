import contextlib
import functools
import json
import multiprocessing
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from jobs import environment, run_python

import dtrain


def place(prefix, suffix=""):
    world = dtrain.init()
    print("printed by", world.rank, flush=True)
    return f"{prefix}{world.rank} of {world.size}{suffix}"


def test_results_come_by_rank(capfd):
    found = dtrain.run(place, ("rank ",), {"suffix": "!"}, np=3)
    assert found == ["rank 0 of 3!", "rank 1 of 3!", "rank 2 of 3!"]


def test_what_ranks_print_is_printed(capsys):
    dtrain.run(place, ("",), np=2)
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "[0]<stdout>:printed by 0",
        "[1]<stdout>:printed by 1",
    ]


def test_functions_bring_what_they_use():
    offset = 10

    def fibonacci(number):
        return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)

    assert dtrain.run(lambda x, *, y=1: x + y + offset, (1,), {"y": 2}, np=1) == [13]
    assert dtrain.run(fibonacci, (10,), np=1) == [55]
    assert dtrain.run(functools.partial(place, "#"), np=1) == ["#0 of 1"]
    assert dtrain.run(lambda: os.environ["A"], np=2, env={"A": "b"}) == ["b", "b"]


def test_hosts_and_options_are_those_of_dtrain_run():
    assert dtrain.run(place, ("",), hosts="localhost:2", options=["--timeout", "60"]) == ["0 of 2", "1 of 2"]


def test_large_arguments_and_results_pass():
    assert dtrain.run(lambda text: text * 2, ("x" * 1_000_000,), np=2) == ["x" * 2_000_000] * 2


def test_a_failure_names_rank_host_cause_and_last_lines():
    def fail():
        world = dtrain.init()
        if world.rank == 1:
            raise ZeroDivisionError("on purpose")
        with contextlib.suppress(dtrain.Error):
            world.barrier()
        signal.pause()  # the other rank leaves the job before its process ends

    with pytest.raises(dtrain.RunError) as raised:
        dtrain.run(fail, np=2)
    error = raised.value
    assert isinstance(error, dtrain.Error)
    assert (error.rank, error.host, error.cause) == (1, "localhost", "exit status 1")
    assert error.error is not None
    assert error.error.startswith(f"ZeroDivisionError: on purpose ({__file__}:")
    assert any("ZeroDivisionError: on purpose" in line for line in error.last_stderr)
    assert str(error).startswith("rank 1 (host localhost) failed: exit status 1")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dtrain.run(place), "np: give the number of ranks"),
        (lambda: dtrain.run(place, np=0), "np: give a number from 1"),
        (lambda: dtrain.run(print, (sys.stdout,), np=1), "cannot be pickled"),
    ],
)
def test_wrong_arguments_are_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_dtrain_run_refuses_is_in_the_error():
    with pytest.raises(dtrain.RunError, match="slots must be 1"):
        dtrain.run(place, ("",), hosts="localhost:x")


def test_a_result_that_cannot_be_pickled_is_named():
    with pytest.raises(dtrain.RunError, match=r"the result of <lambda>, a \w+, cannot be pickled"):
        dtrain.run(lambda: (number for number in range(3)), np=1)


def test_a_rank_without_a_result_is_named():
    with pytest.raises(dtrain.RunError, match="rank 0 has ended without a whole result"):
        dtrain.run(lambda: os._exit(0), np=1)
    with pytest.raises(dtrain.RunError, match="has started no rank"):
        dtrain.run(place, ("",), np=1, options=["--dry-run"])


def test_the_form_of_the_output_is_no_matter(monkeypatch, capfd):
    for name in ["COLOR", "TIMESTAMP", "NO_TAG", "QUIET", "MERGE_STDERR"]:
        monkeypatch.setenv(f"DTRAIN_OPT_{name}", "always" if name == "COLOR" else "1")
        assert dtrain.run(place, ("",), np=2) == ["0 of 2", "1 of 2"]
        monkeypatch.delenv(f"DTRAIN_OPT_{name}")
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert dtrain.run(place, ("",), np=1) == ["0 of 1"]
    with pytest.raises(dtrain.RunError, match=r"^--rank-by: "):
        dtrain.run(place, ("",), np=1, options=["--rank-by", "x"])


def test_what_a_rank_prints_does_not_touch_its_result():
    def noisy():
        def write():
            while not done.is_set():
                os.write(1, b"x" * 1000)

        done = threading.Event()
        writer = threading.Thread(target=write)
        writer.start()
        os.write(1, b"\n\x01dtrain-result gASVCgAAAAAAAACMBmZvcmdlZJQu\n")
        print("." * 30_000, end="")
        content = bytes(11_000_000)
        threading.Timer(0.1, done.set).start()
        return content

    assert dtrain.run(noisy, np=2) == [bytes(11_000_000)] * 2


def test_a_result_may_be_large_and_children_may_outlive_their_rank():
    def leaves_a_child():
        subprocess.Popen(["sleep", "60"], close_fds=False)
        return bytes(200_000_000)

    assert dtrain.run(leaves_a_child, np=1) == [bytes(200_000_000)]


def test_a_report_of_the_users_own_is_written(tmp_path):
    def fail():
        raise OSError("no data")

    report = tmp_path / "report.json"
    with pytest.raises(dtrain.RunError, match="no data"):
        dtrain.run(fail, np=1, options=[f"--report={report}"])
    assert json.loads(report.read_text())["failure"]["rank"] == 0


def test_ranks_import_what_the_caller_does_and_not_from_their_folder(tmp_path):
    beside = tmp_path / "script"
    beside.mkdir()
    (beside / "helper.py").write_text("value = 7")
    (beside / "script.py").write_text(
        "import dtrain, helper\ndef job():\n    import helper\n    return helper.value\nprint(dtrain.run(job, np=2))"
    )
    open_to_all = tmp_path / "open"
    (open_to_all / "dtrain").mkdir(parents=True)
    for name in ["dtrain/__init__.py", "os.py", "pickle.py", "helper.py"]:
        (open_to_all / name).write_text("raise SystemExit('of another user')")
    done = subprocess.run(
        [sys.executable, beside / "script.py"],
        cwd=open_to_all,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[7, 7]\n", "")


def test_a_terminal_gets_nothing_but_text_and_colours():
    script = """
import dtrain, sys
def job():
    print("\\x1b]0;title\\x07\\x1b[2J\\x08\\x08[1]<stdout>:forged \\x1b[31mred\\x1b[0m", flush=True)
    print("\\x9b2J", file=sys.stderr, flush=True)
    raise ValueError("\\x1b[2J")
try: dtrain.run(job, np=1)
except dtrain.RunError as error: print(error)
"""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=follower, stderr=follower, close_fds=True, env=environment()
    )
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(leader, 65536):
            shown += chunk
    process.wait()
    assert b"forged \x1b[31mred\x1b[0m" in shown
    assert b"\\x1b]0;title\\x07\\x1b[2J\\x08\\x08" in shown
    assert not re.search(rb"\x1b(?!\[[0-9;]*m)|\x08|\x07|\xc2[\x80-\x9f]", shown)


def test_a_script_may_define_the_function():
    script = """
import dtrain
base = 40
def add(number): return base + number
if __name__ == "__main__": print(dtrain.run(add, (2,), np=2))
"""
    assert run_python(script).stdout == "[42, 42]\n"


CLASSES = """
import abc, collections, dataclasses, enum, functools, typing
import dtrain

class Layer(abc.ABC):
    made = 0
    unit: str = "x"
    def __init__(self, size):
        self.size = size
        type(self).made += 1
    @abc.abstractmethod
    def forward(self, x): ...
    @property
    def double(self): return 2 * self.size
    @staticmethod
    def parse(text): return int(text)
    @classmethod
    def of(cls, text): return cls(cls.parse(text))
    @functools.cached_property
    def slow(self): return self.size + 1

class Net(Layer):
    def __init__(self, size, bias=1):
        super().__init__(size)
        self.bias = bias
    def forward(self, x): return self.size * x + self.bias
    def twin(self): return Net(self.size, self.bias)

class Slots:
    __slots__ = ("a", "__weakref__")
    def __init__(self, a): self.a = a

@dataclasses.dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 2
    tags: list = dataclasses.field(default_factory=list, compare=False)
    kind: typing.ClassVar[str] = "point"

@dataclasses.dataclass(slots=True)
class Base:
    name: str = "b"

@dataclasses.dataclass
class Child(Base):
    age: int = dataclasses.field(default=3, repr=False)

class Color(enum.Enum):
    RED = 1
    BLUE = 2
    CRIMSON = 1
    def upper(self): return self.name.upper()

class Level(enum.IntEnum):
    LOW = enum.auto()
    HIGH = enum.auto()

Pair = collections.namedtuple("Pair", "a b")
T = typing.TypeVar("T")

class Box(typing.Generic[T]):
    def __init__(self, item: T): self.item = item

class Meta(type):
    def __call__(cls, *args):
        one = super().__call__(*args)
        one.by_meta = True
        return one

class Made(metaclass=Meta):
    pass

class Lost(Exception):
    pass

shared = Net(3)
count = 0
data = open("/dev/null")  # cannot be sent, and is not used

def raise_count():
    global count
    count += 1

def job(net, point, box):
    world = dtrain.init()
    assert isinstance(net, Net) and isinstance(net, Layer) and net.forward(2) == 7 and net.double == 6
    assert net.slow == 4 and Net.of("5").size == 5 and isinstance(net.twin(), Net) and Layer.unit == "x"
    assert type(shared) is type(net) and Net.__module__ == "__main__" and Net.__qualname__ == "Net"
    try: Layer(1)
    except TypeError as error: assert "abstract" in str(error)
    else: raise AssertionError("an abstract class was made")
    assert point == Point(1) and point < Point(1, 3) and dataclasses.replace(point, x=5).x == 5
    assert [one.name for one in dataclasses.fields(Point)] == ["x", "y", "tags"] and Point.kind == "point"
    try: point.x = 3
    except dataclasses.FrozenInstanceError: pass
    else: raise AssertionError("a frozen value was changed")
    assert repr(Child("c")) == "Child(name='c')" and Child().age == 3 and Point(1).tags is not Point(1).tags
    assert Color(1) is Color.RED is Color.CRIMSON and Color.BLUE.upper() == "BLUE" and len(Color) == 2
    assert Level.HIGH == 2 and Level(1) is Level.LOW
    assert Pair(1, 2)._replace(a=3) == (3, 2) and Pair(b=1, a=0).b == 1
    assert isinstance(box, Box) and box.item is shared and Box[int](3).item == 3
    assert Made().by_meta and Slots(4).a == 4 and not hasattr(Slots(4), "__dict__")
    raise_count(); raise_count()
    assert count == 2
    try: raise Lost("x")
    except Lost: pass
    # Another rank has the same class.
    assert all(type(one) is Net for one in world.all_gather_object(net))
    return [Net(world.rank), Point(world.rank), Color.BLUE, Level.HIGH, Pair(1, 2), Box(Net), lambda: Net(9)]

if __name__ == "__main__":
    for rank, result in enumerate(dtrain.run(job, (shared, Point(1), Box(shared)), np=2)):
        net, point, color, level, pair, box, make = result
        assert type(net) is Net and net.size == rank and point == Point(rank) and type(point) is Point
        assert color is Color.BLUE and level is Level.HIGH and type(pair) is Pair and box.item is Net
        assert type(make()) is Net and make().size == 9
    print("equal")
"""


def test_a_script_may_define_classes():
    ended = run_python(CLASSES)
    assert ended.stdout == "equal\n", ended.stderr


def test_inner_classes_are_sent_and_come_back_as_they_were():
    offset = 10

    class Inner:
        def __init__(self, number):
            self.number = number + offset

        def __eq__(self, other):
            return isinstance(other, Inner) and self.number == other.number

        __hash__ = None

    class Derived(Inner):
        def __init__(self):
            super().__init__(1)

    one = Inner(2)
    assert dtrain.run(lambda: [one, Derived()], np=1) == [[one, Derived()]]
    (found,) = dtrain.run(lambda: Derived, np=1)
    assert found is Derived


def test_a_class_that_cannot_be_sent_is_named():
    class Holder:
        file = sys.stdout

    with pytest.raises(ValueError, match=r"the function or its arguments cannot be pickled: cannot pickle "):
        dtrain.run(lambda: Holder, np=1)


def test_a_rank_may_start_processes_of_its_own():
    def count():
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.map(abs, [-3])

    assert dtrain.run(count, np=1) == [[3]]


def test_an_interrupt_ends_the_job():
    script = "import dtrain, time\ndtrain.run(lambda: (print('runs', flush=True), time.sleep(60)), np=2)"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline().endswith("runs\n")
    begin = time.monotonic()
    process.send_signal(2)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert time.monotonic() - begin < 25
