import functools
import os
import subprocess
import sys
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
        world.barrier()

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
    with pytest.raises(dtrain.RunError, match="rank 0 has ended without a result"):
        dtrain.run(lambda: os._exit(0), np=1)


def test_a_script_may_define_the_function():
    script = """
import dtrain
base = 40
def add(number): return base + number
if __name__ == "__main__": print(dtrain.run(add, (2,), np=2))
"""
    assert run_python(script).stdout == "[42, 42]\n"


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
    assert time.monotonic() - begin < 10
