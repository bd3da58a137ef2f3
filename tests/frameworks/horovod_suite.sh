#!/usr/bin/env bash
# Horovod's own tests of its APIs for PyTorch, TensorFlow and Keras, unmodified, on the package dtrain. Each test passes,
# or fails for the cause in horovod_expected.txt. horovod_suite_test.sh runs this.
#
#   HOROVOD_SOURCE=~/horovod tests/frameworks/horovod_suite.sh [VENV…]
#
# HOROVOD_SOURCE is a checkout of Horovod. Each VENV is a build/venv-VENV with our wheel, as python_test.sh and
# python_tensorflow_test.sh leave them. By default they are `torch`, PyPI's, and `python-torch`, Debian's. Those for
# TensorFlow are `tensorflow` and `tensorflow-old`. NP=4 runs more ranks than 2. FILES are other files of test/parallel
# for TensorFlow than all of them.
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$(realpath "${HOROVOD_SOURCE:?a checkout of Horovod}")
if (($# == 0)); then set -- torch python-torch; fi

# The helpers of these tests import both.
extra=build/horovod-suite
if [[ ! -e $extra/installed || ! -e $extra/parameterized ]]; then
  build/venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check --target "$extra" \
    cloudpickle==3.1.3 mock==5.2.0 parameterized==0.9.0
  touch "$extra/installed"
fi
export PYTHONPATH=$PWD/$extra:$PWD/tests/frameworks PYTHONDONTWRITEBYTECODE=1

# test_keras is for TensorFlow 1 only: it begins with tf.ConfigProto, with Horovod's library, too.
tensorflow_files=${FILES:-test_tensorflow test_tensorflow_process_sets test_tensorflow_process_sets_dynamic \
  test_adasum_tensorflow test_tensorflow2_keras test_tensorflow2_keras_process_sets test_tensorflow_keras}

status=0
for name in "$@"; do
  folder=$PWD/build/venv-$name/bin
  words=("$folder/python" -m dtrain.horovod -m pytest -q -rfE -p no:cacheprovider --disable-warnings
    -p horovod_expected)
  if [[ $name == tensorflow* ]]; then
    for file in $tensorflow_files; do
      echo "== $name: $file"
      # In a folder of its own: some of these tests write files into the current one.
      cwd=$(mktemp -d)
      (cd "$cwd" && TF_CPP_MIN_LOG_LEVEL=3 "$folder/dtrain" run -np "${NP:-2}" --timeout 1800 "${words[@]}" --tb=line \
        "$source/test/parallel/$file.py") || status=1
      rm -rf "$cwd"
    done
    continue
  fi
  echo "== $name: torch $("$folder/python" -c 'import torch; print(torch.__version__)')"
  "$folder/dtrain" run -np "${NP:-2}" --timeout 600 "${words[@]}" "$source/test/parallel/test_torch.py" || status=1
  "$folder/dtrain" run -np 1 "${words[@]}" "$source/test/single/test_torch_elastic.py" || status=1
done
exit $status
