#!/usr/bin/env bash
# All tests. `--long` adds the full counts and timers, the fuzzers, and the test on a fresh machine.
#
# The sanitizers and clang-tidy come first. The release tests come last, so that the output ends with CTest's
# summary of them.
set -euo pipefail
cd "$(dirname "$0")/.."

long=OFF
if [[ ${1-} == --long ]]; then long=ON; fi
jobs=$(nproc)
step() { printf '\n== %s (after %d s)\n' "$1" "$SECONDS"; }

step 'packages for the tests'
tools/setup.sh test
# Downloads, and builds Horovod, in the background for minutes. Only the release tests need the result.
mkdir -p build
tools/setup.sh frameworks ${1:+"$1"} >build/frameworks.log 2>&1 &
frameworks=$!

step 'release build'
# The unit tests run in the sanitizer builds below, and need half of a build's time.
cmake --preset release -DDTRAIN_TEST_LONG=$long -DDTRAIN_UNIT_TESTS=$long
cmake --build --preset release

step 'size of the GPU parts'
# Only the files of gpu/ compile again: ccache has the others from the release build.
cmake --preset no-cuda --log-level=NOTICE
cmake --build --preset no-cuda
tests/gpu_growth.py build/release build/no-cuda

step clang-tidy
# Only this build includes .cc files; tests/architecture.py finds others.
program="$PWD/build/tools/bin/clang-tidy;--quiet;--checks=-bugprone-suspicious-include"
if [[ $long == ON ]]; then
  program+=$(printf ';--extra-arg=%s' -Xclang -analyzer-config -Xclang mode=deep)
fi
# Twelve files at once read their headers once. The analyzer follows paths through functions of an included file only on
# a condition. The name of the including file contains UnifiedSource, so the folder's name does.
tidy=build/tidy-UnifiedSource
settings=$tidy/settings # ninja detects changed code, but not changed settings of clang-tidy
wanted=$(cat .clang-tidy tests/.clang-tidy && echo "$program")
if [[ $(cat $settings 2>/dev/null) != "$wanted" ]]; then rm -rf $tidy; fi
cmake --preset tidy -DCMAKE_CXX_CLANG_TIDY="$program"
echo "$wanted" >$settings
# Objects alone: this build has a launcher in the compiler's place, and nothing to link. In unit tests, clang-tidy
# checks names and sizes only, for almost half of its time. `make check` does that for changed files.
unit_tests=dtrain_unit.dir
if [[ $long == ON ]]; then unit_tests=none; fi
ninja -C $tidy -t targets all | sed -n 's/^\(.*\.o\): CXX_COMPILER.*/\1/p' | grep -vF $unit_tests |
  xargs ninja -C $tidy --quiet

# TSan fails under a kernel that randomises addresses with many bits.
fixed_addresses=
if setarch -R true 2>/dev/null; then fixed_addresses='setarch -R'; fi
step 'asan: unit tests, simulations'
cmake --preset asan -DDTRAIN_TEST_LONG=$long
# frameworks.python_test has the tests of the extension, because they need packages from PyPI.
cmake --build --preset asan --target tests/all dtrain_python
$fixed_addresses ctest --preset asan -j "$jobs"

# The other simulations and the fuzzers have one thread. `make check` compiles each file by itself, so each includes all
# that it uses. Here that takes minutes more, and is done with --long.
step 'tsan: unit tests of code with threads'
unity=ON
if [[ $long == ON ]]; then unity=OFF; fi
cmake --preset tsan -DDTRAIN_TEST_LONG=$long -DCMAKE_UNITY_BUILD=$unity
cmake --build --preset tsan --target dtrain_unit out_of_memory_test device_sim_test dtrain_python
$fixed_addresses ctest --preset tsan -j "$jobs" --label-exclude fuzz

if [[ $long == ON ]]; then
  step 'fuzzers: a minute each'
  tools/fuzz.sh
fi

step 'frameworks for the tests'
installed=0
wait $frameworks || installed=$?
cat build/frameworks.log
if ((installed != 0)); then exit $installed; fi

step 'wheel of the Python package'
tools/wheel.sh

# These tests use real processes, signals and clocks of a machine that may be busy. A failed test runs a second
# time, which separates broken tests from unreliable ones. Both fail the run.
step 'release: all tests'
second_tries=tests/second_tries.txt
if [[ $long == ON ]]; then second_tries=/dev/null; fi
tools/ctest_twice.sh $second_tries --preset release -j "$jobs"
