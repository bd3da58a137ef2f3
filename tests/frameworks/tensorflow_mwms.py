"""Compares a training loop under MultiWorkerMirroredStrategy, without Keras, with the same loop on one process."""
import tensorflow as tf

STEPS = 60
RATE = 0.3

strategy = tf.distribute.MultiWorkerMirroredStrategy()
size = strategy.num_replicas_in_sync
me = strategy.cluster_resolver.task_id
assert strategy.extended.worker_devices[0].startswith(f"/job:worker/replica:0/task:{me}/"), strategy.extended

total = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.constant(float(me))))
assert float(total) == size * (size - 1) / 2

x = tf.random.stateless_uniform([12 * size], seed=(1, 2), minval=-1.0)
share = x[me::size]
with strategy.scope():
    weight, bias = tf.Variable(float(me)), tf.Variable(-float(me))  # all start with the values of worker 0


def replica_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((weight * share + bias - (2 * share + 10)) ** 2)
    gradients = tape.gradient(loss, [weight, bias])
    gradients = tf.distribute.get_replica_context().all_reduce("mean", gradients)
    for variable, gradient in zip((weight, bias), gradients):
        variable.assign_sub(RATE * gradient, read_value=False)


@tf.function
def step():
    strategy.run(replica_step)


for number in range(STEPS):
    step()

alone_weight, alone_bias = tf.constant(0.0), tf.constant(0.0)
for number in range(STEPS):
    error = alone_weight * x + alone_bias - (2 * x + 10)
    alone_weight, alone_bias = (alone_weight - RATE * tf.reduce_mean(2 * error * x),
                                alone_bias - RATE * tf.reduce_mean(2 * error))
for mine, alone, target in ((weight, alone_weight, 2), (bias, alone_bias, 10)):
    assert abs(float(mine.numpy()) - float(alone)) < 1e-4, (mine, alone)
    assert abs(float(alone) - target) < 0.01 * target, alone
print(f"worker {me} of {size} learned the same as one alone")
