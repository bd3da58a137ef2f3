#!/bin/bash
# Installs the frameworks whose scripts tests/frameworks and tests/bench run, each in a virtual environment of its
# own under build/, from PyPI; PyTorch itself is Debian's. Says nothing when all is there.
#
#   frameworks.sh               what `make test` needs
#   frameworks.sh --long        what `make test-long` needs besides
#   frameworks.sh --bench       PyTorch of PyPI, for its torchrun (Debian's is broken): 5.4 GB, by tests/bench alone
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

# Two of these at once, of two tests say, must not build into one folder.
exec {lock}>build/frameworks.lock
flock "$lock"

# PyPI is far away: an attempt that a lost connection ended is made again.
pip_install() {
  local python=$1 attempt
  shift
  for attempt in 1 2 3; do
    if "$python" -m pip install --quiet --disable-pip-version-check --no-input --retries 5 "$@"; then return; fi
    echo "setup: attempt $attempt of 3 failed: pip install $*" >&2
  done
  return 1
}

# Makes build/venv-NAME, unless just that is there: install_venv NAME VENV_OPTIONS PIP_WORDS…, one run of pip for
# each PIP_WORDS. It is there when the file `installed` says so, which comes last: what a killed run left is made
# anew. (It cannot be made under another name and renamed: its programs know their own path.)
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

# Downloads come first. tf-keras says that it needs `tensorflow`, the same as tensorflow-cpu with 400 MB for GPUs.
install_venv tensorflow '' tensorflow-cpu==2.21.0 '--no-deps tf-keras==2.21.0'
install_venv jax '' jax==0.10.2
install_venv mpi '' 'mpi4py==4.1.2 mpich==5.0.2'

# Horovod comes as source and is built against the framework that is there, which an isolated build would not
# see; a wheel that pip once built and kept would be for another framework.
horovod='--no-build-isolation --no-cache-dir horovod==0.28.1'
export HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_WITHOUT_MXNET=1
HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 \
  install_venv horovod-torch --system-site-packages 'setuptools<70 wheel' "$horovod"
if [[ ${1-} == --long ]]; then
  HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITHOUT_PYTORCH=1 \
    install_venv horovod-tensorflow '' 'setuptools<70 wheel' tensorflow-cpu==2.13.1 "$horovod"
fi
if [[ ${1-} == --bench ]]; then install_venv torch '' 'torch==2.15.0 numpy'; fi
