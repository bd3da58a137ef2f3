"""Callbacks, saved models, batch normalisation and elastic state of Keras."""

import numpy
import pytest
import tensorflow as tf
from test_optimizer import ROWS, alone, batch_of, close, model_of, same_on_all, whole_batches

import dtrain.keras
import dtrain.tensorflow
import dtrain.tensorflow.keras as hvd
from dtrain._errors import ArgumentError

keras = tf.keras


def rows_of(rank, steps):
    return [numpy.concatenate(parts) for parts in zip(*[batch_of(rank, step) for step in range(steps)], strict=True)]


def fitted(model, steps=3, epochs=1, **options):
    inputs, targets = rows_of(hvd.rank(), steps)
    return model.fit(inputs, targets, batch_size=ROWS, shuffle=False, verbose=0, epochs=epochs, **options)


def test_the_names():
    assert dtrain.keras.DistributedOptimizer is hvd.DistributedOptimizer
    assert dtrain.keras.callbacks.MetricAverageCallback is hvd.callbacks.MetricAverageCallback
    assert dtrain.keras.elastic.KerasState is hvd.elastic.KerasState


def test_all_ranks_train_as_one_process_with_the_whole_batch():
    model = model_of(hvd.rank() + 1)
    model.compile(optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.1)), loss="mse")
    callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()]
    history = fitted(model, callbacks=callbacks, validation_data=tuple(rows_of(hvd.rank(), 1)))
    assert same_on_all(model.get_weights())
    assert close(model.get_weights(), alone(keras.optimizers.SGD(0.1), 3))
    inputs, targets = whole_batches(0)
    expected = numpy.mean((model(inputs).numpy() - targets) ** 2)
    assert numpy.allclose(history.history["val_loss"][0], expected, atol=1e-5)
    assert same_on_all([numpy.array(history.history["loss"])])


def test_a_state_that_one_rank_has_loaded():
    model = model_of(hvd.rank() + 1)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    if hvd.rank() == 0:
        model.compile(optimizer=optimizer, loss="mse")
        fitted(model)
    model.compile(optimizer=hvd.DistributedOptimizer(optimizer), loss="mse")
    fitted(model, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
    assert same_on_all(model.get_weights())
    state = hvd.callbacks.variables_of_optimizer(model.optimizer)
    assert len(state) > 2
    assert same_on_all([tf.convert_to_tensor(one).numpy() for one in state])


def test_variables_that_stay_local():
    model = model_of(hvd.rank() + 1)
    model.compile(optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.0)), loss="mse")
    before = model.get_weights()
    local = list(model.layers[-1].trainable_variables)
    fitted(model, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0, local_variables=local)])
    assert same_on_all(model.get_weights()[:2])
    assert close(model.get_weights()[2:], before[2:])


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_a_model_is_loaded_with_a_distributed_optimizer(suffix, tmp_path):
    if suffix == "h5" and hasattr(keras, "version"):
        pytest.skip("Keras 3 itself cannot train a model that it has loaded from HDF5")
    model = model_of()
    model.compile(optimizer=keras.optimizers.Adam(0.1), loss=keras.losses.MeanSquaredError())
    inputs, targets = batch_of(0, 0)
    model.fit(inputs, targets, batch_size=ROWS, verbose=0)
    path = str(tmp_path / f"model.{suffix}")
    model.save(path)
    loaded = hvd.load_model(path)
    # Each rank has other rows, and the optimizer its state of before.
    fitted(loaded, 2)
    assert same_on_all(loaded.get_weights())
    assert int(tf.convert_to_tensor(loaded.optimizer.iterations)) == 3


def test_learning_rates():
    size = hvd.size()
    model = model_of()
    model.compile(optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.1 * size)), loss="mse")
    rates = []

    class Rates(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            rates.append(float(tf.convert_to_tensor(self.model.optimizer.learning_rate)))

    warmup = hvd.callbacks.LearningRateWarmupCallback(0.1 * size, warmup_epochs=2)
    schedule = hvd.callbacks.LearningRateScheduleCallback(0.1 * size, multiplier=0.5, start_epoch=2, end_epoch=4)
    later = hvd.callbacks.LearningRateScheduleCallback(0.1 * size, multiplier=lambda epoch: 0.1**epoch, start_epoch=4)
    history = fitted(model, 3, epochs=5, callbacks=[warmup, schedule, later, Rates()])
    # Six batches from a sixth of the way to all of it.
    expected = [0.1 * (1 + place / 6 * (size - 1)) for place in range(1, 7)] + [0.1 * size] * 3
    assert numpy.allclose(rates[:9], expected)
    assert numpy.allclose(rates[9:], [0.05 * size] * 3 + [0.1 * size * 0.1**4] * 3)
    assert numpy.allclose(history.history["lr"], rates[2::3])


@pytest.fixture
def mixed_precision():
    keras.mixed_precision.set_global_policy("mixed_float16")
    yield
    keras.mixed_precision.set_global_policy("float32")


def test_mixed_precision_where_one_rank_has_no_finite_gradient(mixed_precision):
    model = model_of(hvd.rank() + 1)
    model.compile(optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.1)), loss="mse")
    inputs, targets = rows_of(hvd.rank(), 3)
    if hvd.rank() == hvd.size() - 1:
        inputs[ROWS] = numpy.inf
    model.fit(
        inputs, targets, batch_size=ROWS, shuffle=False, verbose=0,
        callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)],
    )  # fmt: skip
    assert same_on_all(model.get_weights())
    assert numpy.isfinite(numpy.concatenate([one.ravel() for one in model.get_weights()])).all()


def test_the_other_order_for_mixed_precision_is_refused():
    optimizer = hvd.DistributedOptimizer(keras.optimizers.SGD(0.1))
    with pytest.raises(ArgumentError, match="give DistributedOptimizer the LossScaleOptimizer"):
        keras.mixed_precision.LossScaleOptimizer(optimizer)


def test_the_best_model_is_saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = model_of()
    model.compile(optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.01)), loss=keras.losses.MeanSquaredError())
    fitted(model, epochs=2, callbacks=[hvd.callbacks.BestModelCheckpoint("loss")])
    (found,) = tmp_path.glob("best_model.*")
    assert close(hvd.load_model(str(found)).get_weights(), model.get_weights())


def test_values():
    assert hvd.allreduce(float(hvd.rank()), average=False) == sum(range(hvd.size()))
    assert hvd.allgather([hvd.rank()]).numpy().tolist() == list(range(hvd.size()))
    assert hvd.broadcast(hvd.rank(), 0) == 0
    assert hvd.reducescatter(numpy.ones(hvd.size(), numpy.float32), op=hvd.Sum).numpy().tolist() == [hvd.size()]


@pytest.mark.parametrize("in_function", [False, True])
def test_batch_normalisation(in_function):
    size = hvd.size()
    generator = numpy.random.default_rng(3)
    # The ranks have different numbers of rows.
    ends = numpy.cumsum([0, *[4 + rank for rank in range(size)]])
    whole = generator.normal(3.0, 2.0, (ends[-1], 5, 3)).astype(numpy.float32)
    weights = generator.normal(size=whole.shape).astype(numpy.float32)
    own = slice(ends[hvd.rank()], ends[hvd.rank() + 1])
    layers = dtrain.tensorflow.SyncBatchNormalization(), keras.layers.BatchNormalization()

    def both(layer, inputs, factors):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = layer(inputs, training=True)
            loss = tf.reduce_sum(outputs * factors)
        return outputs, tape.gradient(loss, inputs)

    for layer in layers:
        layer.build([None, 5, 3])
    call = tf.function(both) if in_function else both
    found = call(layers[0], tf.constant(whole[own]), tf.constant(weights[own]))
    expected = both(layers[1], tf.constant(whole), tf.constant(weights))
    for one, other in zip(found, expected, strict=True):
        assert numpy.allclose(one.numpy(), other.numpy()[own], atol=1e-4)
    for name in ("moving_mean", "moving_variance"):
        one, other = (tf.convert_to_tensor(getattr(layer, name)).numpy() for layer in layers)
        assert numpy.allclose(one, other, atol=1e-4)


def test_elastic_state():
    model = model_of(hvd.rank() + 1)
    model.compile(optimizer=hvd.DistributedOptimizer(keras.optimizers.SGD(0.1, momentum=0.9)), loss="mse")
    state = hvd.elastic.KerasState(model, epoch=0, batch=hvd.rank())
    calls = []

    @hvd.elastic.run
    def train(state):
        calls.append(state.batch)
        before = model.get_weights()
        commit = hvd.elastic.CommitStateCallback(state, batches_per_commit=2)
        counts = [hvd.elastic.UpdateBatchStateCallback(state), hvd.elastic.UpdateEpochStateCallback(state)]
        fitted(model, epochs=2, callbacks=[*counts, commit])
        assert state.epoch == 2
        saved = model.get_weights()
        model.set_weights(before)
        state.restore()
        assert close(model.get_weights(), saved)
        assert state.epoch == 2

    train(state)
    assert calls == [0]
    assert same_on_all(model.get_weights())


def test_elastic_state_of_variables():
    variable = tf.Variable([float(hvd.rank())])
    state = dtrain.tensorflow.elastic.TensorFlowState([variable], step=hvd.rank())
    state.sync()
    assert variable.numpy().tolist() == [0.0]
    assert state.step == 0
    variable.assign([5.0])
    state.restore()
    assert variable.numpy().tolist() == [0.0]
