"""Elastic training of Horovod's API: complete for jobs of fixed size, which dtrain has."""

from dtrain.horovod.common.basics import shutdown
from dtrain.horovod.common.elastic import run, run_fn
from dtrain.horovod.common.process_sets import init
from dtrain.torch.elastic.sampler import ElasticSampler
from dtrain.torch.elastic.state import TorchState

__all__ = ["ElasticSampler", "TorchState", "init", "run", "run_fn", "shutdown"]
