"""Joining, leaving, and the trace of a job."""

import json
import os

import pytest
import torch

import dtrain
import dtrain.torch as hvd

BEFORE_INIT = {
    "rank": hvd.rank,
    "local_size": hvd.local_size,
    "allreduce": lambda: hvd.allreduce(torch.ones(2)),
    "grouped_allgather": lambda: hvd.grouped_allgather([torch.ones(2)]),
    "broadcast_": lambda: hvd.broadcast_(torch.ones(2), 0),
    "join": hvd.join,
    "barrier": hvd.barrier,
    "add_process_set": lambda: hvd.add_process_set([0]),
    "start_timeline": lambda: hvd.start_timeline("trace.json"),
    "stop_timeline": hvd.stop_timeline,
}


@pytest.mark.parametrize("what", BEFORE_INIT)
def test_calls_before_init_name_it(what):
    hvd.barrier()
    hvd.shutdown()
    assert not hvd.is_initialized()
    with pytest.raises(ValueError, match=r"call hvd\.init\(\) first"):
        BEFORE_INIT[what]()
    hvd.init()
    assert hvd.is_initialized()


def test_a_process_may_join_again_and_again():
    numbers = hvd.rank(), hvd.size()
    for _ in range(20):
        hvd.init()
        assert (hvd.rank(), hvd.size()) == numbers
        assert hvd.allreduce(torch.ones(2), op=hvd.Sum).tolist() == [hvd.size()] * 2
        hvd.barrier()
        hvd.shutdown()
        hvd.shutdown()
    hvd.init()
    assert int(os.environ["HOROVOD_RANK"]) == hvd.rank()
    assert int(os.environ["HOROVOD_SIZE"]) == hvd.size()
    assert hvd.local_size() == hvd.size()
    assert hvd.cross_size() == 1


def test_init_makes_process_sets():
    size = hvd.size()
    hvd.barrier()
    hvd.shutdown()
    first = hvd.ProcessSet([0])
    rest = hvd.ProcessSet(range(1, size))
    hvd.init(process_sets=[first, rest] if size > 2 else "dynamic")
    if size > 2:
        own = first if hvd.rank() == 0 else rest
        assert hvd.allreduce(torch.ones(2), op=hvd.Sum, process_set=own).tolist() == [own.size()] * 2
    hvd.barrier()
    hvd.shutdown()
    hvd.init()
    assert first.process_set_id is None


def test_an_operation_under_way_fails_when_its_job_ends():
    handle = hvd.allreduce_async(torch.ones(2), name=f"of rank {hvd.rank()} alone")
    hvd.barrier()
    hvd.shutdown()
    if int(os.environ["HOROVOD_SIZE"]) > 1:
        with pytest.raises(hvd.HorovodInternalError) as caught:
            hvd.synchronize(handle)
        assert isinstance(caught.value, dtrain.Error)
    hvd.init()


def test_a_rank_that_leaves_alone_is_named_by_the_others():
    hvd.barrier()
    if hvd.rank() == 0:
        hvd.shutdown()
    elif hvd.size() > 1:
        with pytest.raises(hvd.HorovodInternalError, match="left") as caught:
            hvd.allreduce(torch.ones(2))
        assert caught.value.rank == 0
        hvd.shutdown()
    hvd.init()
    assert hvd.allreduce(torch.ones(2), op=hvd.Sum).tolist() == [hvd.size()] * 2


def test_handles_and_process_sets_of_an_earlier_init_are_refused():
    old = hvd.add_process_set([0]) if hvd.size() > 1 else hvd.ProcessSet([0])
    done = hvd.allreduce_async(torch.ones(2))
    hvd.synchronize(done)
    pending = hvd.allreduce_async(torch.ones(2), name=f"of rank {hvd.rank()} alone")
    hvd.barrier()
    hvd.shutdown()
    hvd.init()
    for _ in range(2):
        assert hvd.synchronize(done).tolist() == [1, 1]
        if hvd.size() > 1:
            assert hvd.poll(pending)
            with pytest.raises(hvd.HorovodInternalError):
                hvd.synchronize(pending)
        with pytest.raises(ValueError, match="not registered"):
            hvd.allreduce(torch.ones(2), process_set=old)
        with pytest.raises(ValueError, match="not registered"):
            hvd.barrier(old)
        assert not hvd.remove_process_set(old)
        assert hvd.allreduce(torch.ones(2), op=hvd.Sum).tolist() == [hvd.size()] * 2


def test_a_trace_has_the_operations_of_a_rank(tmp_path):
    path = tmp_path / "trace.json"
    hvd.start_timeline(str(path))
    hvd.allreduce(torch.ones(2), name="one")
    hvd.allgather(torch.ones(2), name="two")
    hvd.stop_timeline()
    hvd.allreduce(torch.ones(2), name="after")
    own = path if hvd.rank() == 0 else tmp_path / f"trace.json.{hvd.rank()}"
    spans = [row for row in json.loads(own.read_text()) if row["ph"] == "X"]
    assert [(row["name"], row["args"]["name"]) for row in spans] == [
        ("NEGOTIATE_ALLREDUCE", "allreduce.one"),
        ("ALLREDUCE", "allreduce.one"),
        ("NEGOTIATE_ALLGATHER", "allgather.two"),
        ("ALLGATHER", "allgather.two"),
    ]
    assert all(row["dur"] >= 0 and row["pid"] == hvd.rank() for row in spans)
    assert spans[0]["ts"] + spans[0]["dur"] <= spans[1]["ts"] + 1


def test_the_environment_names_a_trace(tmp_path, monkeypatch):
    path = tmp_path / "trace.json"
    hvd.barrier()
    hvd.shutdown()
    monkeypatch.setenv("HOROVOD_TIMELINE", str(path))
    hvd.init()
    hvd.allreduce(torch.ones(2), name="one")
    hvd.barrier()
    hvd.shutdown()
    monkeypatch.delenv("HOROVOD_TIMELINE")
    hvd.init()
    own = path if hvd.rank() == 0 else tmp_path / f"trace.json.{hvd.rank()}"
    assert any(row["name"] == "ALLREDUCE" for row in json.loads(own.read_text()))
