"""Elastic training of Horovod's API: complete for jobs of fixed size, which dtrain has."""

from dtrain.horovod.common.elastic import run
from dtrain.torch.elastic.sampler import ElasticSampler
from dtrain.torch.elastic.state import TorchState

__all__ = ["ElasticSampler", "TorchState", "run"]
