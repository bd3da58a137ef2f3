"""A task of a standing cluster: TensorFlow's server, which never ends by itself."""
import json
import os

import tensorflow as tf

config = json.loads(os.environ["TF_CONFIG"])
task = config["task"]
server = tf.distribute.Server(tf.train.ClusterSpec(config["cluster"]), job_name=task["type"], task_index=task["index"])
print("serves", task["type"], task["index"], flush=True)
server.join()
