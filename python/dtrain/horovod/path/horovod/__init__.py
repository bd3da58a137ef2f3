"""The import names of Horovod, for processes that `python -m dtrain.horovod` has started by spawn or forkserver.

multiprocessing gives these processes its sys.path, which has the folder above, and not the finders of imports.
"""

import sys

import dtrain.horovod.names

dtrain.horovod.names.install()
sys.modules[__name__] = dtrain.horovod
