"""Prints the cluster that TensorFlow finds in a Slurm job, and the place of this process in it."""
import os

import tensorflow as tf

resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(gpus_per_node=2, gpus_per_task=1, auto_set_gpu=False)
cluster = resolver.cluster_spec().as_dict()
role, index = resolver.get_task_info()
print(f"rank {os.environ['RANK']}: {role} {index} of {' '.join(cluster['worker'])}")
