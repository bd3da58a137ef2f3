"""A client of a standing cluster, which is no task of it: a step of TensorFlow 1 and one of TensorFlow 2.

standing_client.py CLUSTER_SPEC: as dtrain job status --cluster-spec prints it. TF_CONFIG is that of --tf-config.
"""
import json
import sys

import tensorflow as tf

cluster = json.loads(sys.argv[1])
graph = tf.Graph()
with graph.as_default():
    with tf.device("/job:ps/task:0"):
        variable = tf.compat.v1.get_variable("v", initializer=20.0, use_resource=True)
    with tf.device("/job:worker/task:0"):
        doubled = variable * 2.0 + 2.0
    with tf.compat.v1.Session("grpc://" + cluster["worker"][0], graph=graph) as session:
        session.run(tf.compat.v1.global_variables_initializer())
        print("TensorFlow 1:", session.run(doubled))

strategy = tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    variable = tf.Variable(20.0)
step = tf.function(lambda: variable * 2.0 + 2.0)
print("TensorFlow 2:", coordinator.schedule(step).fetch(), variable.device)
