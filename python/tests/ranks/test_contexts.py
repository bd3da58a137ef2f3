import os
import pickle
from typing import ClassVar

import numpy as np
import pytest

import dtrain


def test_a_rank_knows_its_place(world):
    assert world.rank == int(os.environ["DTRAIN_RANK"])
    assert world.size == int(os.environ["DTRAIN_SIZE"])
    # The hosts of a job have the same number of ranks here.
    hosts = int(os.environ.get("HOSTS", "1"))
    ranks = world.size // hosts
    assert (world.local_rank, world.local_size) == (world.rank % ranks, ranks)
    assert (world.cross_rank, world.cross_size) == (world.rank // ranks, hosts)
    assert world.host == ("localhost" if hosts == 1 else f"node{world.rank // ranks + 1}")
    assert repr(world) == f"<dtrain.Context: rank {world.rank} of {world.size}, host {world.host}>"
    assert "all_reduce" in world.algorithms


def test_ranks_of_one_color_form_a_group(world):
    group = world.split(world.rank % 2, -world.rank)
    same = [rank for rank in range(world.size) if rank % 2 == world.rank % 2][::-1]
    assert group is not None
    assert (group.rank, group.size) == (same.index(world.rank), len(same))
    assert group.all_gather_object(world.rank) == same
    assert group.all_reduce(np.ones(3)).tolist() == [len(same)] * 3


def test_a_list_of_ranks_forms_a_group_in_its_order(world):
    ranks = list(range(world.size))[::-1]
    for group in (world.group(ranks), world.split(ranks)):
        assert group is not None
        assert group.all_gather_object(world.rank) == ranks
    alone = world.split([0])
    assert (alone is not None) == (world.rank == 0)
    assert world.split(None) is None
    assert alone is None or alone.all_reduce(np.ones(1)).tolist() == [1]


def test_a_dropped_group_stays_usable_for_others(world):
    for _ in range(3):
        group = world.split(0)
        assert group is not None
        total = group.all_reduce_async(np.ones(1000), name="in a group")
        del group
        assert total.wait()[0] == world.size


@pytest.mark.parametrize("value", [None, {"a": [1, 2.5, "ä"]}, np.arange(5), "x" * 3_000_000])
def test_objects_are_broadcast_and_gathered(world, value):
    root = world.size - 1
    found = world.broadcast_object(value if world.rank == root else "another", root)
    assert pickle.dumps(found) == pickle.dumps(value)
    gathered = world.all_gather_object((world.rank, value if world.rank == 0 else None))
    assert [rank for rank, _ in gathered] == list(range(world.size))
    assert pickle.dumps(gathered[0][1]) == pickle.dumps(value)


class Harmful:
    """An object that runs code where it is unpickled."""

    ran: ClassVar = []

    def __reduce__(self):
        return self.ran.append, ("code",)


def test_bytes_that_no_rank_has_sealed_are_not_unpickled(world):
    forged = pickle.dumps(Harmful())
    for content in (forged, forged + bytes(32), b""):
        size = np.array([len(content)])
        if world.rank == 0:
            world.broadcast(size, 0)
            world.broadcast(content, 0)
            world.all_gather(size)
            world.all_gather(content, ragged=True)
            continue
        with pytest.raises(dtrain.Error, match="the object of rank 0 is not unpickled") as raised:
            world.broadcast_object()
        assert (raised.value.code, raised.value.rank) == ("protocol", 0)
        with pytest.raises(dtrain.Error, match="the object of rank 0 is not unpickled"):
            world.all_gather_object(None)
    assert not Harmful.ran


def test_ranks_share_a_store(world):
    store = world.store
    name = f"{world.size} ranks"
    if world.rank == 0:
        store.set(f"{name}/greeting", "hello")
    assert store.wait(f"{name}/greeting", timeout=30) == b"hello"
    assert store.get(f"{name}/greeting") == b"hello"
    assert store.get("nothing") is None
    store.add(f"{name}/count", 2)
    world.barrier()
    assert store.add(f"{name}/count", 0) == 2 * world.size
    won = store.compare_and_set(f"{name}/leader", None, str(world.rank))
    assert world.all_gather_object(won).count(True) == 1
    assert store.compare_and_set(f"{name}/leader", "99", b"x") is False
    world.barrier()
    assert world.all_gather_object(store.erase(f"{name}/leader")).count(True) == 1
    store.set(f"{name}/empty/{world.rank}", b"")
    assert store.get(f"{name}/empty/{world.rank}") == b""
    with pytest.raises(dtrain.Error) as raised:
        store.wait("never", timeout=0.05)
    assert raised.value.code == "timeout"
    assert "never" in str(raised.value)
