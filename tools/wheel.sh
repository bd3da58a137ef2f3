#!/usr/bin/env bash
# Builds the wheels of the Python packages into build/dist. dtrain has the extension, libdtrain and the launcher;
# dtrain-horovod has the import names of Horovod. The environment
# build/venv-wheel has the pinned tools for it and for tests/frameworks/python_test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/frameworks.sh --wheel

python=build/venv-wheel/bin/python
mkdir -p build/dist
rm -f build/dist/*.whl
# The compiler of the release build, under the same name: ccache then has its objects.
export CC=${CC:-cc} CXX=${CXX:-c++}
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index \
  --wheel-dir build/dist . ./python/dtrain_horovod
# auditwheel checks in the tests that the tag is true.
"$python" -m wheel tags --remove --platform-tag "manylinux_2_34_$(uname -m)" build/dist/dtrain-*.whl >/dev/null
# The builder compresses for speed, and PyPI has limits.
advzip --quiet --recompress --shrink-normal build/dist/*.whl
ls build/dist/*.whl
