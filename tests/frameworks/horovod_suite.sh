#!/usr/bin/env bash
# Horovod's own tests of its API for PyTorch, unmodified, on the package dtrain. Not a part of `make test-ci`.
#
#   HOROVOD_SOURCE=~/horovod tests/frameworks/horovod_suite.sh [VENV…]
#
# HOROVOD_SOURCE is a checkout of Horovod. Each VENV is a build/venv-VENV with torch and our wheel, as python_test.sh
# leaves them: by default `torch`, PyPI's, and `python-torch`, Debian's. NP=4 runs more ranks than 2.
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$(realpath "${HOROVOD_SOURCE:?a checkout of Horovod}")
if (($# == 0)); then set -- torch python-torch; fi

# The helpers of these tests import both.
extra=build/horovod-suite
if [[ ! -e $extra/installed ]]; then
  build/venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check --target "$extra" \
    cloudpickle==3.1.3 mock==5.2.0
  touch "$extra/installed"
fi
export PYTHONPATH=$PWD/$extra PYTHONDONTWRITEBYTECODE=1

status=0
for name in "$@"; do
  folder=build/venv-$name/bin
  words=("$folder/python" -m dtrain.horovod -m pytest -q -p no:cacheprovider --disable-warnings)
  echo "== $name: torch $("$folder/python" -c 'import torch; print(torch.__version__)')"
  "$folder/dtrain" run -np "${NP:-2}" --timeout 600 "${words[@]}" "$source/test/parallel/test_torch.py" || status=1
  "$folder/dtrain" run -np 1 "${words[@]}" "$source/test/single/test_torch_elastic.py" || status=1
done
exit $status
