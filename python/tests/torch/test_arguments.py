"""Wrong arguments: each a ValueError at once, after which the ranks continue."""

import pytest
import torch

import dtrain.torch as hvd

ONES = torch.ones(3)
LEAF = torch.ones(3, requires_grad=True)


def wrong_splits(splits):
    return lambda: hvd.alltoall(torch.ones(hvd.size()), splits=splits)


WRONG = {
    "no tensor": (lambda: hvd.allreduce([1.0, 2.0]), "give a tensor"),
    "an array": (lambda: hvd.broadcast(ONES.numpy(), 0), "give a tensor"),
    "nothing": (lambda: hvd.allgather(None), "give a tensor"),
    "sparse": (lambda: hvd.allgather(ONES.to_sparse()), "sparse"),
    "dense where sparse is wanted": (lambda: hvd.sparse_allreduce_async(ONES, "x", hvd.Sum), "sparse"),
    "another reduction of a sparse one": (
        lambda: hvd.sparse_allreduce_async(ONES.to_sparse(), "x", hvd.Max),
        "Sum and Average",
    ),
    "an empty list": (lambda: hvd.grouped_allreduce([]), "not empty"),
    "no list": (lambda: hvd.grouped_allgather(ONES), "list of tensors"),
    "a wrong one in a list": (lambda: hvd.grouped_allreduce_([ONES, None]), "give a tensor"),
    "a wrong one at the end of a list": (lambda: hvd.grouped_allgather_async([ONES, torch.tensor(1)]), "dimension"),
    "no dimension to gather": (lambda: hvd.allgather(torch.tensor(1.0)), "no first dimension"),
    "no dimension to exchange": (lambda: hvd.alltoall(torch.tensor(1.0)), "no first dimension"),
    "no dimension to scatter": (lambda: hvd.reducescatter(torch.tensor(1.0)), "no first dimension"),
    "a leaf in place": (lambda: hvd.allreduce_(LEAF), "requires grad"),
    "a leaf in a group in place": (lambda: hvd.grouped_allreduce_async_([ONES, LEAF]), "requires grad"),
    "a leaf in a broadcast in place": (lambda: hvd.broadcast_async_(LEAF, 0), "requires grad"),
    "an unknown reduction": (lambda: hvd.allreduce(ONES, op=99), "op: give one of"),
    "a reduction by its name": (lambda: hvd.allreduce(ONES, op="sum"), "op: give one of"),
    "both ways to name a reduction": (lambda: hvd.allreduce(ONES, average=True, op=hvd.Sum), "not both"),
    "the average of bool": (lambda: hvd.allreduce(ONES > 0), "(?i)average"),
    "Adasum of integers": (lambda: hvd.allreduce(ONES.int(), op=hvd.Adasum), "(?i)adasum"),
    "Adasum of a reducescatter": (lambda: hvd.reducescatter(ONES, op=hvd.Adasum), "Adasum"),
    "the maximum of complex": (lambda: hvd.allreduce(ONES.cfloat(), op=hvd.Max), "complex"),
    "a factor of 0": (lambda: hvd.allreduce(ONES, prescale_factor=0), "prescale_factor"),
    "an infinite factor": (lambda: hvd.allreduce(ONES, postscale_factor=float("inf")), "postscale_factor"),
    "a factor that is no number": (lambda: hvd.reducescatter(ONES, prescale_factor="2"), "prescale_factor"),
    "a root that is no rank": (lambda: hvd.broadcast(ONES, 4), "root_rank"),
    "a negative root": (lambda: hvd.broadcast(ONES, -1), "root_rank"),
    "a root by its name": (lambda: hvd.broadcast(ONES, "0"), "root_rank"),
    "too many splits": (wrong_splits([0] * 9), "splits: give"),
    "no splits": (wrong_splits([]), "splits: give"),
    "negative splits": (wrong_splits([-1] * 4), "splits: give"),
    "a sum of splits that is too large": (wrong_splits([99] * 4), "splits: give"),
    "splits of another type": (wrong_splits(torch.ones(4)), "int32"),
    "splits of long": (wrong_splits(torch.ones(4, dtype=torch.int64)), "int32"),
    "splits that are no integers": (wrong_splits([0.5]), "integers"),
    "one number as splits": (wrong_splits(1.5), "integers"),
    "rows that the ranks do not divide": (lambda: hvd.alltoall(torch.ones(hvd.size() * 5 + 1)), "not divisible"),
    "a name that is no text": (lambda: hvd.allreduce(ONES, name=7), "name: give a str"),
    "a name of bytes": (lambda: hvd.grouped_allgather([ONES], name=b"x"), "name: give a str"),
    "an object that cannot be pickled": (lambda: hvd.broadcast_object((i for i in ()), hvd.rank()), "pickled"),
    "parameters that are none": (lambda: hvd.broadcast_parameters([("x", 1)], 0), "params"),
    "no process set": (lambda: hvd.allreduce(ONES, process_set=[0]), "process_set"),
    "a process set of no job": (lambda: hvd.barrier(hvd.ProcessSet([0])), "not registered"),
    "a process set of no integers": (lambda: hvd.ProcessSet(["0"]), "integers"),
    "a communicator": (lambda: hvd.ProcessSet(object()), "MPI"),
    "an empty process set": (lambda: hvd.add_process_set([]), "different ranks"),
    "a process set with a rank twice": (lambda: hvd.add_process_set([0, 0]), "different ranks"),
    "a communicator for all": (lambda: hvd.init(comm=object()), "MPI"),
}


FOREIGN = {
    "allreduce": lambda one: hvd.allreduce(ONES, process_set=one),
    "grouped_allreduce_": lambda one: hvd.grouped_allreduce_([ONES], process_set=one),
    "sparse_allreduce_async": lambda one: hvd.sparse_allreduce_async(ONES.to_sparse(), "x", hvd.Sum, process_set=one),
    "allgather": lambda one: hvd.allgather(ONES, process_set=one),
    "broadcast_": lambda one: hvd.broadcast_(ONES, one.ranks[0], process_set=one),
    "alltoall": lambda one: hvd.alltoall(ONES, process_set=one),
    "reducescatter": lambda one: hvd.reducescatter(ONES, process_set=one),
    "barrier": hvd.barrier,
    "broadcast_object": lambda one: hvd.broadcast_object(1, one.ranks[0], process_set=one),
    "rank": lambda one: one.rank(),
}


def test_a_name_that_two_optimizers_use_is_explained():
    if hvd.size() == 1:
        pytest.skip("nothing is under way on one rank")
    names = "gradient.2.weight", "other"
    if hvd.rank() != 0:
        hvd.barrier()  # rank 0 has asked twice
    handles = [hvd.allreduce_async(ONES, name=name) for name in names]
    if hvd.rank() == 0:
        with pytest.raises(ValueError, match=r"'gradient.2.weight' is under way .*named_parameters\(prefix=…\)"):
            hvd.allreduce_async(ONES, name=names[0])
        with pytest.raises(ValueError, match=r"'other' is under way on this rank$"):
            hvd.allreduce_async(ONES, name=names[1])
        hvd.barrier()
    for handle in handles:
        hvd.synchronize(handle)


def test_a_process_set_without_this_rank_is_refused():
    if hvd.size() == 1:
        pytest.skip("the one rank is in every set")
    sets = [hvd.add_process_set([rank]) for rank in (0, 1)]
    foreign = sets[0] if hvd.rank() == 1 else sets[1]
    assert foreign.size() == 1
    assert not foreign.included()
    for name, call in FOREIGN.items():
        with pytest.raises(ValueError, match=f"rank {hvd.rank()} is not among its ranks"):
            pytest.fail(f"{name} has returned {call(foreign)}")
    own = next((one for one in sets if one.included()), hvd.global_process_set)
    outside = next(rank for rank in range(hvd.size() + 1) if rank not in own.ranks)
    with pytest.raises(ValueError, match="root_rank"):
        hvd.broadcast(ONES, outside, process_set=own)
    for one in sets:
        assert hvd.remove_process_set(one)


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_a_value_error_at_once(what):
    call, message = WRONG[what]
    if hvd.size() == 1 and what == "rows that the ranks do not divide":
        pytest.skip("one rank divides all")
    with pytest.raises(ValueError, match=message):
        call()
    assert hvd.allreduce(ONES, op=hvd.Sum).tolist() == [hvd.size()] * 3


def test_average_is_deprecated_and_works():
    with pytest.warns(DeprecationWarning, match="average is deprecated"):
        assert hvd.allreduce(ONES, average=False).tolist() == [hvd.size()] * 3
    with pytest.warns(DeprecationWarning, match="average is deprecated"):
        assert hvd.allreduce(ONES, average=True).tolist() == [1] * 3
