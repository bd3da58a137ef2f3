#!/bin/sh
# Installs the frameworks that tests/frameworks runs real scripts of, each in a virtual environment of its own
# under build/, from PyPI and on Debian's PyTorch. Says nothing when all is there.
set -eu
cd "$(dirname "$0")/.."

# Makes build/venv-$1 from the rest of the words, as pip takes them, unless just that is there.
install_venv() {
  folder=build/venv-$1
  shift
  if [ "$(cat "$folder/installed" 2>/dev/null)" = "$*" ]; then return; fi
  echo "setup: installing into $folder: $*"
  rm -rf "$folder"
  /usr/bin/python3 -m venv --system-site-packages "$folder"
  # What packages need to be built, here and not in an isolation that would not see PyTorch.
  "$folder/bin/pip" install --quiet --disable-pip-version-check 'setuptools<70' wheel
  "$folder/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation "$@"
  echo "$*" >"$folder/installed"
}

# Horovod comes as source, and takes two minutes.
export HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1
export HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1
install_venv horovod-torch horovod==0.28.1
