"""Variables and objects from one rank to all."""

import numpy
import pytest
import tensorflow as tf

import dtrain.tensorflow as hvd
from dtrain.horovod.runner.common.util.env import get_env_rank_and_size


def variables_of(rank):
    return [
        tf.Variable(tf.fill([3, 2], float(rank))),
        tf.Variable(rank, dtype=tf.int64),
        tf.Variable(tf.fill([50_000], float(rank)), dtype=tf.float32),
        tf.Variable(tf.cast(rank, tf.bfloat16)),
        tf.Variable(tf.zeros([0, 4])),
        tf.Variable(rank == 0),
    ]


def test_variables():
    root = hvd.size() - 1
    for inplace in (False, True):
        variables = variables_of(hvd.rank())
        hvd.broadcast_variables(variables, root, inplace=inplace)
        for found, expected in zip(variables, variables_of(root), strict=True):
            assert found.dtype == expected.dtype
            assert numpy.array_equal(found.numpy(), expected.numpy())
    hvd.broadcast_variables([], 0)


def test_variables_in_a_function():
    variables = variables_of(hvd.rank())

    @tf.function(autograph=False)
    def call():
        hvd.broadcast_variables(variables, 0)

    call()
    assert [float(tf.reduce_max(tf.cast(one, tf.float32))) for one in variables[:4]] == [0.0] * 4


def test_values_in_use_are_not_written_to():
    variable = tf.Variable(tf.fill([50_000], float(hvd.rank())))
    before = variable.read_value()
    hvd.broadcast_([variable], 0)
    assert (before.numpy() == hvd.rank()).all()
    assert (variable.numpy() == 0).all()


@pytest.mark.parametrize("kind", ["resource", "reference"])
def test_a_session_with_the_hook(kind, tmp_path):
    with tf.Graph().as_default():
        rank = float(hvd.rank() + 1)
        make = tf.compat.v1.get_variable
        variable = make("weights", initializer=tf.fill([2], rank), use_resource=kind == "resource")
        step = tf.compat.v1.train.get_or_create_global_step()
        total = hvd.allreduce(variable * 1.0, op=hvd.Sum)
        hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.compat.v1.train.StopAtStepHook(last_step=3)]
        advance = tf.compat.v1.assign_add(step, 1)
        folder = str(tmp_path) if hvd.rank() == 0 else None
        with tf.compat.v1.train.MonitoredTrainingSession(hooks=hooks, checkpoint_dir=folder) as session:
            while not session.should_stop():
                found, own, _ = session.run([total, variable, advance])
        assert own.tolist() == [1.0, 1.0]
        assert found.tolist() == [hvd.size()] * 2


def test_objects(job):
    root = hvd.size() - 1
    assert hvd.broadcast_object({"rank": hvd.rank()}, root) == {"rank": root}
    assert hvd.broadcast_object_fn(0)([hvd.rank()] * 1000) == [0] * 1000
    assert hvd.allgather_object("x" * hvd.rank()) == ["x" * rank for rank in range(hvd.size())]


def test_eager_programs_are_pointed_to_broadcast_variables():
    with pytest.raises(ValueError, match=r"call broadcast_variables\(model.variables\)"):
        hvd.broadcast_global_variables(0)


def test_the_place_of_a_rank_before_init_and_its_process_sets(sets):
    everyone = list(range(hvd.size()))
    assert get_env_rank_and_size() == (hvd.rank(), hvd.size())
    assert str(hvd.global_process_set) == f"ProcessSet(process_set_id=0, ranks={everyone}, mpi_comm=None)"
    numbers = hvd.mpi_ops._basics._get_process_set_ids_and_ranks()
    assert numbers[0] == everyone
    assert [numbers[one.process_set_id] for one in sets] == [one.ranks for one in sets]
