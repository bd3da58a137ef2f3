#!/usr/bin/env bash
# The tests that `make test` leaves out: clang-tidy, sanitizers, hosts in network namespaces, frameworks, the wheel, the
# GPU parts over stand-ins. `--long` takes the full counts and timers, and adds the tests under disturbance, the
# fuzzers, Grid Engine, and a fresh machine.
set -euo pipefail
cd "$(dirname "$0")/.."

long=OFF
if [[ ${1-} == --long ]]; then long=ON; fi
jobs=$(nproc)
counts=build/test_counts
fixed_addresses=
step() { printf '\n== %s (after %d s)\n' "$1" "$SECONDS"; }
run_tests() { $fixed_addresses tools/run_tests.py "$@" | tee -a $counts; }

step 'packages for the tests'
tools/setup.sh ci
mkdir -p build
: >$counts
# Downloads, and builds Horovod, in the background for minutes. Only the last tests need the result.
tools/setup.sh frameworks ${1:+"$1"} >build/frameworks.log 2>&1 &
frameworks=$!

step 'release builds with and without the GPU parts'
cmake --preset cpu --log-level=NOTICE -DBUILD_TESTING=ON -DDTRAIN_TEST_LONG=OFF
cmake --build --preset cpu --target dtrain dtrain_shared dtrain_bench
cmake --preset release -DBUILD_TESTING=ON -DDTRAIN_TEST_LONG=$long
release=({cmd,comm,examples,man,python,tests/cuda,tests/gpu,tests/programs}/all)
if [[ $long == ON ]]; then release=(all); fi
cmake --build --preset release --target "${release[@]}"
tests/gpu_growth.py build/release build/cpu

step clang-tidy
# Only this build includes .cc files; tests/architecture.py finds others. The analyzer takes three quarters of the time:
# `make check` runs it on changed files, and --long on all.
program="$PWD/build/tools/bin/clang-tidy;--quiet;--checks=-bugprone-suspicious-include"
if [[ $long == ON ]]; then
  program+=$(printf ';--extra-arg=%s' -Xclang -analyzer-config -Xclang mode=deep)
else
  # Without the analyzer, clang's own warnings would count, too. The other builds have those of gcc.
  program+=',-clang-analyzer-*;--extra-arg=-Wno-everything'
fi
# Many files at once read their headers once. The analyzer follows paths through functions of an included file only on
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

# The sanitizers fail under a kernel that randomises addresses with many bits.
if setarch -R true 2>/dev/null; then fixed_addresses='setarch -R'; fi
step 'asan: unit tests, simulations'
cmake --preset asan -DDTRAIN_TEST_LONG=$long
# frameworks.python_test has the tests of the extension, because they need packages from PyPI.
cmake --build --preset asan --target tests/all dtrain_python
run_tests "asan: " --preset asan -j "$jobs"

# The other simulations and the fuzzers have one thread. `make check` compiles each file by itself, so each includes all
# that it uses. Here that takes minutes more, and is done with --long.
step 'tsan: unit tests of code with threads'
unity=ON
if [[ $long == ON ]]; then unity=OFF; fi
cmake --preset tsan -DDTRAIN_TEST_LONG=$long -DCMAKE_UNITY_BUILD=$unity
cmake --build --preset tsan --target dtrain_unit out_of_memory_test device_sim_test dtrain_python
run_tests "tsan: " --preset tsan -j "$jobs" --label-exclude fuzz

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

step 'release: hosts, frameworks, GPU parts'
fixed_addresses=
if [[ $long == ON ]]; then
  run_tests "release: " --preset release -j "$jobs"
else
  run_tests "release: " --preset release -j "$jobs" -L 'ci|net|frameworks'
fi

awk '/^[a-z]+: [0-9]+ passed, / { passed += $2; failed += $4; skipped += $6 }
  END { printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped }' $counts
