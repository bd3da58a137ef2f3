"""Optimizers and tapes: the weights of all ranks are those of one process with the batches of all."""

import numpy
import pytest
import tensorflow as tf

import dtrain
import dtrain.tensorflow as hvd

keras = tf.keras
ROWS = 6
KERAS_3 = hasattr(keras, "version")


def batch_of(rank, step):
    generator = numpy.random.default_rng(100 * step + rank)
    inputs = generator.normal(size=(ROWS, 3)).astype(numpy.float32)
    return inputs, inputs @ numpy.float32([[1.0], [-2.0], [0.5]]) + 1


def model_of(seed=1):
    keras.utils.set_random_seed(seed)
    return keras.Sequential([keras.Input([3]), keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])


def whole_batches(step):
    rows = [batch_of(rank, step) for rank in range(hvd.size())]
    return [numpy.concatenate(parts) for parts in zip(*rows, strict=True)]


def alone(optimizer, steps, batches=whole_batches):
    """Return the weights after steps of one process with the rows of all ranks."""
    model = model_of()
    for step in range(steps):
        inputs, targets = batches(step)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(inputs) - targets) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return model.get_weights()


def close(found, expected):
    return all(numpy.allclose(one, other, atol=1e-5) for one, other in zip(found, expected, strict=True))


def same_on_all(weights):
    return all(
        all(numpy.array_equal(one, other) for one, other in zip(theirs, weights, strict=True))
        for theirs in hvd.allgather_object(weights)
    )


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("compression", [hvd.Compression.none, hvd.Compression.bf16])
def test_a_tape(in_function, compression):
    model, optimizer = model_of(), keras.optimizers.SGD(0.1)

    def train(inputs, targets):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(inputs) - targets) ** 2)
        tape = hvd.DistributedGradientTape(tape, compression=compression)
        assert isinstance(tape, tf.GradientTape)
        variables = model.trainable_variables
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    call = tf.function(train) if in_function else train
    for step in range(3):
        call(*map(tf.constant, batch_of(hvd.rank(), step)))
    assert same_on_all(model.get_weights())
    if compression is hvd.Compression.none:
        assert close(model.get_weights(), alone(keras.optimizers.SGD(0.1), 3))


def test_structures_of_sources():
    one, two = tf.Variable([1.0, 2.0]), tf.Variable([[3.0]])
    table = tf.Variable(tf.ones([4, 2]))
    with hvd.DistributedGradientTape(tf.GradientTape(persistent=True)) as tape:
        loss = tf.reduce_sum(one * (hvd.rank() + 1)) + tf.reduce_sum(tf.gather(table, [hvd.rank() % 4]))
    mean = (hvd.size() + 1) / 2
    first, (second, (third,)) = tape.gradient(loss, [one, (two, [table])])
    assert first.numpy().tolist() == [mean, mean]
    assert second is None
    assert isinstance(third, tf.IndexedSlices) or hvd.size() == 1
    dense = tf.convert_to_tensor(third).numpy()
    assert numpy.allclose(dense.sum(), 2.0)
    assert tape.gradient(loss, {"a": one})["a"].numpy().tolist() == [mean, mean]
    assert tape.gradient(loss, one).numpy().tolist() == [mean, mean]
    tape = hvd.DistributedGradientTape(tf.GradientTape(), sparse_as_dense=True)
    with tape:
        loss = tf.reduce_sum(tf.gather(table, [hvd.rank() % 4]))
    assert numpy.allclose(tape.gradient(loss, [table])[0].numpy(), dense)


def optimizers():
    made = {"sgd": lambda: keras.optimizers.SGD(0.1, momentum=0.9), "adam": lambda: keras.optimizers.Adam(0.01)}
    if not KERAS_3:
        made["legacy"] = lambda: keras.optimizers.legacy.SGD(0.1, momentum=0.9)
    return made


@pytest.mark.parametrize("kind", list(optimizers()))
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_fit(kind, run_eagerly):
    model = model_of(hvd.rank() + 1)
    hvd.broadcast_variables(model.variables, 0)
    optimizer = optimizers()[kind]()
    wrapped = hvd.DistributedOptimizer(optimizer)
    assert isinstance(wrapped, type(optimizer))
    model.compile(optimizer=wrapped, loss="mse", run_eagerly=run_eagerly)
    rows = [batch_of(hvd.rank(), step) for step in range(3)]
    inputs, targets = (numpy.concatenate(parts) for parts in zip(*rows, strict=True))
    model.fit(inputs, targets, batch_size=ROWS, epochs=1, shuffle=False, verbose=0)
    assert same_on_all(model.get_weights())
    assert close(model.get_weights(), alone(optimizers()[kind](), 3))
    model.train_on_batch(*batch_of(hvd.rank(), 3))
    assert close(model.get_weights(), alone(optimizers()[kind](), 4))


@pytest.mark.parametrize("jit_compile", ["auto", True])
def test_fit_without_xla(capfd, jit_compile):
    if not KERAS_3:
        pytest.skip("Keras 2 compiles without XLA")
    model = model_of()
    wrapped = hvd.DistributedOptimizer(keras.optimizers.SGD(0.1))
    for _ in range(2):
        model.compile(optimizer=wrapped, loss="mse", jit_compile=jit_compile)
        model.fit(*batch_of(hvd.rank(), 0), batch_size=ROWS, epochs=2, verbose=0)
        assert same_on_all(model.get_weights())
    assert capfd.readouterr().err.count("Keras compiles this model without it") == (hvd.rank() == 0)


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_several_passes_a_step(in_function, average):
    model = model_of()
    wrapped = hvd.DistributedOptimizer(
        keras.optimizers.SGD(0.1), backward_passes_per_step=2, average_aggregated_gradients=average
    )

    def train(inputs, targets):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(inputs) - targets) ** 2)
        variables = model.trainable_variables
        wrapped.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    call = tf.function(train) if in_function else train
    begin = model.get_weights()
    call(*map(tf.constant, batch_of(hvd.rank(), 0)))
    assert close(model.get_weights(), begin)
    for step in range(1, 4):
        call(*map(tf.constant, batch_of(hvd.rank(), step)))

    def both(step):
        return [
            numpy.concatenate(parts) for parts in zip(whole_batches(2 * step), whole_batches(2 * step + 1), strict=True)
        ]

    assert close(model.get_weights(), alone(keras.optimizers.SGD(0.1 if average else 0.2), 2, both))
    # As with Horovod, so that schedules of the learning rate count passes.
    assert int(tf.convert_to_tensor(wrapped.iterations)) == 4


@pytest.mark.skipif(not KERAS_3, reason="Keras 2 adds up no gradients itself")
@pytest.mark.parametrize("in_function", [False, True])
def test_several_passes_within_those_of_keras(in_function):
    own = keras.optimizers.SGD(1.0, gradient_accumulation_steps=2)
    wrapped = hvd.DistributedOptimizer(own, backward_passes_per_step=2, average_aggregated_gradients=True)
    variable = keras.Variable([8.0])

    def train():
        wrapped.apply([tf.constant([hvd.rank() + 1.0])], [variable])

    call = tf.function(train) if in_function else train
    for _ in range(3):
        call()
    assert variable.numpy().tolist() == [8.0]
    call()
    assert variable.numpy().tolist() == [8.0 - (hvd.size() + 1) / 2]


@pytest.mark.skipif(KERAS_3, reason="optimizers of Keras 3 compute no gradients")
@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("legacy", [False, True])
def test_gradients_that_the_optimizer_has_computed_are_reduced_once(in_function, legacy):
    own = keras.optimizers.legacy.SGD(1.0) if legacy else keras.optimizers.SGD(1.0)
    wrapped = hvd.DistributedOptimizer(own, op=hvd.Sum)
    variable, other = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    total = sum(range(1, hvd.size() + 1))

    def train():
        compute = wrapped._compute_gradients if legacy else wrapped.compute_gradients
        pairs = compute(lambda: (hvd.rank() + 1.0) * tf.reduce_sum(variable) + 0 * other, [variable, other])
        wrapped.apply_gradients(pairs)
        return pairs[0][0]

    gradient = (tf.function(train) if in_function else train)()
    assert gradient.numpy().tolist() == [total, total]
    assert variable.numpy().tolist() == [1.0 - total, 2.0 - total]
    wrapped.minimize(lambda: (hvd.rank() + 1.0) * tf.reduce_sum(variable) + 0 * other, [variable, other])
    assert variable.numpy().tolist() == [1.0 - 2 * total, 2.0 - 2 * total]
    wrapped.apply_gradients([(tf.fill([2], hvd.rank() + 1.0), variable), (tf.constant(0.0), other)])
    assert variable.numpy().tolist() == [1.0 - 3 * total, 2.0 - 3 * total]


@pytest.mark.parametrize("passes", [1, 2])
def test_a_session(passes):
    with tf.Graph().as_default():
        inputs, targets = (tf.compat.v1.placeholder(tf.float32, [ROWS, width]) for width in (3, 1))
        weights = tf.compat.v1.get_variable("weights", initializer=tf.zeros([3, 1]))
        table = tf.compat.v1.get_variable("table", initializer=tf.zeros([4, 1]))
        found = inputs @ weights + tf.gather(table, [0, 1, 1, 2, 2, 2])
        loss = tf.reduce_mean((found - targets) ** 2)
        step = tf.compat.v1.train.get_or_create_global_step()
        plain = tf.compat.v1.train.MomentumOptimizer(0.1, 0.9)
        wrapped = hvd.DistributedOptimizer(plain, backward_passes_per_step=passes, average_aggregated_gradients=True)
        train = wrapped.minimize(loss, global_step=step)
        hooks = [hvd.BroadcastGlobalVariablesHook(0)]
        with tf.compat.v1.train.MonitoredTrainingSession(hooks=hooks) as session:
            for number in range(4):
                feeds = dict(zip((inputs, targets), batch_of(hvd.rank(), number), strict=True))
                session.run(train, feeds)
            result = session.run([weights, table])
            assert session.run(step) == 4
    expected = [numpy.zeros((3, 1)), numpy.zeros((4, 1))]
    momenta = [numpy.zeros((3, 1)), numpy.zeros((4, 1))]
    places = numpy.array([0, 1, 1, 2, 2, 2])
    sums = [0.0, 0.0]
    for number in range(4):
        for rank in range(hvd.size()):
            given, wanted = batch_of(rank, number)
            slope = 2 * (given @ expected[0] + expected[1][places] - wanted) / ROWS / hvd.size() / passes
            sums[0] = sums[0] + given.T @ slope
            table_slope = numpy.zeros((4, 1))
            numpy.add.at(table_slope, places, slope)
            sums[1] = sums[1] + table_slope
        if number % passes == passes - 1:
            momenta = [0.9 * old + new for old, new in zip(momenta, sums, strict=True)]
            expected = [old - 0.1 * new for old, new in zip(expected, momenta, strict=True)]
            sums = [0.0, 0.0]
    assert same_on_all(result)
    assert close(result, expected)


# How Adam changes two weights in a first step is known only to a first step of its own.
def changes_of_adam(gradients):
    own = [tf.Variable(tf.zeros_like(gradient)) for gradient in gradients]
    tf.compat.v1.train.AdamOptimizer(0.1).apply_gradients(list(zip(gradients, own, strict=True)))
    return [one.numpy() for one in own]


def adasum_of(changes):
    return [hvd.allreduce(one, op=hvd.Adasum).numpy() for one in changes]


@pytest.mark.parametrize("passes", [1, 2])
def test_adasum_combines_the_changes_of_weights(passes):
    if hvd.size() & (hvd.size() - 1):
        pytest.skip("Adasum needs a power of 2")
    gradients = [tf.constant([1.0 + hvd.rank(), -3.0]), tf.constant([[0.5 - hvd.rank()]])]
    begin = [numpy.float32([1, 2]), numpy.float32([[3]])]
    plain = tf.compat.v1.train.AdamOptimizer(0.1)
    variables = [tf.Variable(one) for one in begin]
    eager = hvd.DistributedOptimizer(plain, op=hvd.Adasum, backward_passes_per_step=passes)
    for _ in range(passes):
        eager.apply_gradients(list(zip(gradients, variables, strict=True)))
    combined = adasum_of(changes_of_adam([passes * gradient for gradient in gradients]))
    expected = [one + change for one, change in zip(begin, combined, strict=True)]
    assert close([one.numpy() for one in variables], expected)

    numbers = [gradient.numpy() for gradient in gradients]
    with tf.Graph().as_default():
        weights = [tf.compat.v1.get_variable(f"weights_{place}", initializer=one) for place, one in enumerate(begin)]
        loss = sum(tf.reduce_sum(one * number) for one, number in zip(weights, numbers, strict=True))
        own = tf.compat.v1.train.AdamOptimizer(0.1)
        train = hvd.DistributedOptimizer(own, op=hvd.Adasum, backward_passes_per_step=passes).minimize(loss)
        with tf.compat.v1.train.MonitoredTrainingSession() as session:
            for _ in range(passes):
                session.run(train)
            assert close(session.run(weights), expected)


def test_local_variables():
    one, two = tf.Variable([1.0]), tf.Variable([1.0])
    wrapped = hvd.DistributedOptimizer(keras.optimizers.SGD(1.0))
    wrapped.register_local_var(two)
    rank, size = hvd.rank(), hvd.size()
    wrapped.apply_gradients([(tf.constant([rank + 1.0]), one), (tf.constant([rank + 1.0]), two)])
    assert numpy.allclose(one.numpy(), 1 - (size + 1) / 2)
    assert numpy.allclose(two.numpy(), 1 - (rank + 1) / size)
    layer = keras.layers.Dense(1)
    layer.build([None, 1])
    with tf.GradientTape(persistent=True) as tape:
        loss = two[0] + tf.reduce_sum(layer(tf.constant([[rank + 1.0]])))
    tape = hvd.PartialDistributedGradientTape(tape, local_layers=[layer], scale_local_gradients=False)
    assert tape.gradient(loss, layer.trainable_variables)[0].numpy().item() == rank + 1
    local, others = tape.get_local_and_global_gradients(loss, [two, *layer.trainable_variables])
    assert [gradient.numpy().item() for _, gradient in local] == [rank + 1, 1]
    assert [(variable is two, gradient.numpy().tolist()) for variable, gradient in others] == [(True, [1.0])]


def test_options():
    variable = tf.Variable([0.0])
    for options in ({"gradient_predivide_factor": 2.0}, {"groups": 2}, {"compression": hvd.Compression.fp16}):
        wrapped = hvd.DistributedOptimizer(keras.optimizers.SGD(1.0), **options)
        variable.assign([0.0])
        wrapped.apply_gradients([(tf.constant([hvd.rank() + 1.0]), variable)])
        assert numpy.allclose(variable.numpy(), -(hvd.size() + 1) / 2)
    wrapped = hvd.DistributedOptimizer(keras.optimizers.SGD(1.0), op=hvd.Sum)
    variable.assign([0.0])
    wrapped.apply_gradients([(tf.constant([1.0]), variable)])
    assert variable.numpy().tolist() == [-hvd.size()]


def test_an_optimizer_of_the_same_config():
    wrapped = hvd.DistributedOptimizer(keras.optimizers.SGD(1.0))
    variable = tf.Variable([0.0])
    again = type(wrapped).from_config(wrapped.get_config())
    again.apply_gradients([(tf.constant([hvd.rank() + 1.0]), variable)])
    assert numpy.allclose(variable.numpy(), -(hvd.size() + 1) / 2)


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_a_saved_model_loads_without_dtrain(suffix, tmp_path):
    model = model_of()
    wrapped = hvd.DistributedOptimizer(keras.optimizers.Adam(0.25))
    model.compile(optimizer=wrapped, loss=keras.losses.MeanSquaredError())
    model.fit(*batch_of(hvd.rank(), 0), batch_size=ROWS, verbose=0)
    path = str(tmp_path / f"model.{suffix}")
    model.save(path)
    loaded = keras.models.load_model(path)
    assert type(loaded.optimizer) is keras.optimizers.Adam
    assert numpy.allclose(float(numpy.asarray(loaded.optimizer.learning_rate)), 0.25)
    assert close(loaded.get_weights(), model.get_weights())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hvd.DistributedOptimizer(3), "give an optimizer of tf.compat.v1.train or of Keras, not int"),
        (lambda: hvd.DistributedOptimizer(hvd.DistributedOptimizer(keras.optimizers.SGD())), "wrap it once"),
        (lambda: hvd.DistributedOptimizer(keras.optimizers.SGD(), backward_passes_per_step=0), "give a number from 1"),
        (lambda: hvd.DistributedOptimizer(keras.optimizers.SGD(), compression=3), "compression: give one of"),
        (lambda: hvd.DistributedOptimizer(keras.optimizers.SGD(), op=hvd.Adasum), "op: an optimizer of Keras has no"),
        (lambda: hvd.DistributedOptimizer(keras.optimizers.SGD(), groups="x"), "groups: give a number"),
        (lambda: hvd.DistributedOptimizer(keras.optimizers.SGD(), process_set=1), "process_set: give a ProcessSet"),
        (lambda: hvd.DistributedGradientTape(3), "gradtape: give a tf.GradientTape"),
        (
            lambda: hvd.DistributedGradientTape(hvd.DistributedGradientTape(tf.GradientTape())),
            "distributed one already",
        ),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(dtrain.ArgumentError, match=message):
        call()


def test_a_strategy_around_it():
    with (
        tf.distribute.MirroredStrategy(["CPU:0"]).scope(),
        pytest.raises(dtrain.ArgumentError, match="leave out the strategy"),
    ):
        hvd.DistributedOptimizer(keras.optimizers.SGD(1.0)).apply_gradients([(tf.ones([1]), tf.Variable([1.0]))])


def test_a_gradient_that_is_sparse_on_one_rank():
    if hvd.size() == 1:
        pytest.skip("one rank agrees with itself")
    variable = tf.Variable(tf.ones([2, 1]))
    dense = tf.ones([2, 1])
    gradient = tf.IndexedSlices(tf.ones([1, 1]), tf.constant([0]), [2, 1]) if hvd.rank() == 0 else dense
    with pytest.raises(hvd.HorovodInternalError) as raised:
        hvd.DistributedOptimizer(keras.optimizers.SGD(1.0)).apply_gradients([(gradient, variable)])
    assert raised.value.code == "mismatch"
