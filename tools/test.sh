#!/usr/bin/env bash
# The tests that show that dtrain works on this machine: unit tests, short simulations, the binary from outside, the
# corpora of the fuzzers, and the checks of words and architecture. tools/test_ci.sh has the others.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh test
# The kernels take a minute to compile, and these tests need a GPU to run them.
preset=cpu
if nvidia-smi -L >/dev/null 2>&1; then preset=release; fi
cmake --preset $preset --log-level=NOTICE -DBUILD_TESTING=ON -DDTRAIN_TEST_LONG=OFF
cmake --build --preset $preset

printf '\nNot here, but by make test-ci: sanitizers, clang-tidy, hosts in network namespaces, frameworks, the wheel.\n'
# Many of them sleep more than they compute.
tools/run_tests.py '' --preset $preset -j $((2 * $(nproc))) -LE 'ci|net|frameworks|long'
