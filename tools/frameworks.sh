#!/bin/bash
# Installs the frameworks for the scripts of tests/frameworks and tests/bench from PyPI. Each has a virtual environment
# of its own under build/. Horovod has Debian's PyTorch. Prints nothing when all are installed.
#
#   frameworks.sh               those of `make test-ci`
#   frameworks.sh --long        also those of `make test-long`
#   frameworks.sh --wheel       only the tools for the wheel of Python
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

# Two runs at once, for example of two tests, must not build into one folder.
exec {lock}>build/frameworks.lock
flock "$lock"

# Retries, because connections to PyPI get lost.
pip_install() {
  local python=$1 attempt
  shift
  for attempt in 1 2 3; do
    if "$python" -m pip install --quiet --disable-pip-version-check --no-input --retries 5 "$@"; then return; fi
    echo "setup: attempt $attempt of 3 failed: pip install $*" >&2
  done
  return 1
}

# install_venv NAME VENV_OPTIONS PIP_ARGUMENTS…: makes build/venv-NAME, with one run of pip for each PIP_ARGUMENTS. The
# file `installed` has these arguments and is written last. So an environment with other arguments, or of a killed run,
# is made again. A rename at the end would not do, because the programs contain their own path.
install_venv() {
  local folder=build/venv-$1 words
  if [[ $(cat "$folder/installed" 2>/dev/null) == "${*:2}" ]]; then return; fi
  echo "setup: installing into $folder: ${*:3}"
  rm -rf "$folder"
  # shellcheck disable=SC2086  # one word an option
  /usr/bin/python3 -m venv $2 "$folder"
  for words in "${@:3}"; do
    # shellcheck disable=SC2086  # one word an argument
    pip_install "$folder/bin/python" $words
  done
  echo "${*:2}" >"$folder/installed"
}

install_venv wheel '' 'scikit-build-core==1.1.2 wheel==0.48.0 auditwheel==6.8.2 ruff==0.17.6 mypy==2.4.1'
if [[ ${1-} == --wheel ]]; then exit; fi

# The schemas of Kubernetes, which judge what `dtrain export` writes: 22 MB.
install_venv kubernetes '' 'kubernetes-validate==1.37.0 PyYAML==6.0.3'

# Downloads come first. tf-keras depends on `tensorflow`, which is tensorflow-cpu and 400 MB for GPUs: --no-deps.
install_venv tensorflow '' 'tensorflow-cpu==2.21.0 pytest==9.2.0' '--no-deps tf-keras==2.21.0'
# The oldest TensorFlow that dtrain.tensorflow works with, which has Keras 2.
install_venv tensorflow-old '' 'tensorflow-cpu==2.13.1 pytest==9.2.0'
install_venv jax '' jax==0.10.2
install_venv python '' 'numpy==2.4.6 pytest==9.2.0 hypothesis==6.170.17' ipykernel==7.4.0
install_venv python-torch --system-site-packages pytest==9.2.0
# PyTorch of PyPI, 5.4 GB: Debian's is older by far, and its torchrun is broken.
install_venv torch '' 'torch==2.15.0 numpy==2.4.6 pytest==9.2.0'
install_venv mpi '' 'mpi4py==4.1.2 mpich==5.0.2'

# pip builds Horovod from source against the installed framework, which an isolated build would not find. A cached
# wheel could be for another framework. Only those for benchmarks are optimised, which takes twice as long: Gloo without
# optimisation is a slower peer.
MAKEFLAGS=-j$(nproc)
export MAKEFLAGS
horovod='--no-build-isolation --no-cache-dir horovod==0.28.1'
export HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_WITHOUT_MXNET=1
HOROVOD_DEBUG=1 HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 \
  install_venv horovod-torch --system-site-packages 'setuptools<70 wheel' "$horovod"
if [[ ${1-} == --long ]]; then
  HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 \
    install_venv horovod-torch-optimised --system-site-packages 'setuptools<70 wheel' "$horovod"
  HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITHOUT_PYTORCH=1 \
    install_venv horovod-tensorflow '' 'setuptools<70 wheel' tensorflow-cpu==2.13.1 "$horovod"
fi
