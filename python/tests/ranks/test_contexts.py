import os
import pickle

import numpy as np
import pytest

import dtrain
from dtrain import _objects


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

    def __reduce__(self):
        return exec, ("import os; os.environ['CODE_HAS_RUN'] = '1'",)

    @staticmethod
    def ran():
        return os.environ.pop("CODE_HAS_RUN", None) is not None


def test_bytes_that_no_rank_has_sealed_are_not_unpickled(world):
    group = world.group(range(world.size))  # rank 0 counts no call in it
    forged = pickle.dumps(Harmful())
    for content in (forged, forged + bytes(32), b""):
        if world.rank == 0:
            put(group, content)
            put_all(group, content)
            continue
        with pytest.raises(dtrain.Error, match="the object of rank 0 is not unpickled") as raised:
            group.broadcast_object()
        assert (raised.value.code, raised.value.rank) == ("protocol", 0)
        with pytest.raises(dtrain.Error, match="the object of rank 0 is not unpickled"):
            group.all_gather_object(None)
    assert not Harmful.ran()


def put(group, content):
    """Take the place of the root of broadcast_object."""
    group.broadcast(np.array([len(content)]), 0)
    group.broadcast(content, 0)


def put_all(group, content):
    """Take the place of a rank in all_gather_object."""
    group.all_gather(np.array([len(content)]))
    group.all_gather(content, ragged=True)


def test_an_object_is_not_read_in_the_place_of_another(world):
    group, other, part = (world.group(range(world.size)) for _ in range(3))
    halves = world.split(0), world.split(0)
    if world.rank == 0:
        content = _objects.sealed(Harmful(), group._seal.key("broadcast_object"), 0)
        put(group, content)
        put(group, content)
        put_all(group, content)
        put(other, content)
        put(part, _objects.sealed(Harmful(), part._seal.key("broadcast_object"), 1))
        put(halves[1], _objects.sealed(Harmful(), halves[0]._seal.key("broadcast_object"), 0))
        return
    group.broadcast_object()
    assert Harmful.ran()
    for call in (
        group.broadcast_object,
        lambda: group.all_gather_object(None),
        other.broadcast_object,
        part.broadcast_object,
        halves[1].broadcast_object,
    ):
        with pytest.raises(dtrain.Error, match="the object of rank 0 is not unpickled"):
            call()
    assert not Harmful.ran()


def test_objects_continue_after_calls_that_have_failed(world):
    if world.size == 1:
        pytest.skip("one rank agrees with itself")
    for call in (lambda: world.broadcast_object("x"), lambda: world.all_gather_object("x")):
        with pytest.raises(dtrain.Error, match=r"sent|called"):
            world.all_reduce(np.ones(5)) if world.rank == 0 else call()
    with pytest.raises(ValueError, match="pickled"):
        world.all_gather_object(iter([world]))
    assert world.broadcast_object(world.rank, 0) == 0
    assert world.all_gather_object(world.rank) == list(range(world.size))


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
