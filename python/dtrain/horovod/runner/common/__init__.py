"""Modules of Horovod's launcher that scripts import."""
