#!/usr/bin/env bash
# The files of `make install`. Programs in C and C++ can be built with these alone, by pkg-config and by
# find_package, with the shared and with the static library.
. "$(dirname "$0")/lib.sh"
build_dir=$(dirname "$DTRAIN")
source_dir=$(realpath "$(dirname "$0")/../..")

# Installs by the commands of the Makefile, without building anything again.
make_install() {
  run env -u MAKEFLAGS -u MAKELEVEL make -C "$source_dir" --no-print-directory -o build install "$@"
  expect_status 0
}

# Installs into ./prefix of the test's folder. Only OpenSSL's pkg-config file comes from the system.
install_here() {
  make_install "PREFIX=$PWD/prefix"
  use_prefix "$PWD/prefix"
}
use_prefix() {
  local openssl
  openssl=$(env -u PKG_CONFIG_LIBDIR pkg-config --variable=pcfiledir libcrypto)
  export PKG_CONFIG_LIBDIR=$1/lib/pkgconfig:$openssl PKG_CONFIG_PATH=
}

write_programs() {
  cat >program.c <<'END'
#include <dtrain/dtrain.h>
#include <stdio.h>

int main(void) {
  dtrain_error error = {.struct_size = sizeof error};
  dtrain_context* world = dtrain_init(NULL, &error);
  if (world == NULL) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  printf("C: rank %d of %d\n", dtrain_rank(world), dtrain_size(world));
  dtrain_finalize(world);
  return 0;
}
END
  cat >program.cc <<'END'
#include <dtrain/dtrain.hpp>

#include <cstdio>
#include <vector>

int main() {
  dtrain::Context world = dtrain::init();
  std::vector<float> values = {1, 2};
  world.all_reduce(std::span<float>(values), dtrain::Op::sum);
  std::printf("C++: rank %d of %d, sum %g\n", world.rank(), world.size(), values[1]);
}
END
}

# build_by_pkg_config PROGRAM COMPILER FLAGS SOURCE [--static]
build_by_pkg_config() {
  local flags
  # shellcheck disable=SC2086  # an option of pkg-config or none
  flags=$(pkg-config --cflags --libs ${5-} dtrain)
  if [[ ${5-} == --static ]]; then flags=${flags/-ldtrain/-l:libdtrain.a}; fi
  # shellcheck disable=SC2086  # several words each
  run $2 $3 -Wall -Wextra -Wpedantic -Werror "$4" -o "$1" $flags
  expect_status 0
}

# Builds the four programs by find_package, in ./build; $1 is the prefix.
build_by_find_package() {
  cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C CXX)
find_package(dtrain 0.1 REQUIRED COMPONENTS static)
foreach(kind dtrain static)
  add_executable(c_${kind} program.c)
  set_target_properties(c_${kind} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
  add_executable(cpp_${kind} program.cc)
  target_link_libraries(c_${kind} dtrain::${kind})
  target_link_libraries(cpp_${kind} dtrain::${kind})
endforeach()
END
  run cmake -G Ninja -S . -B build -D "CMAKE_PREFIX_PATH=$1"
  expect_status 0
  run cmake --build build
  expect_status 0
}

# expect_static, expect_shared PROGRAM: the program contains the library, or needs the shared one.
expect_static() { expect_not grep -q 'NEEDED.*libdtrain' <(readelf -d "$1"); }
expect_shared() { expect grep -q 'NEEDED.*libdtrain\.so\.0' <(readelf -d "$1"); }

c_says='C: rank 0 of 1'
cpp_says='C++: rank 0 of 1, sum 2'

test_the_files_are_in_their_places() {
  install_here
  for file in bin/dtrain lib/libdtrain.so lib/libdtrain.a include/dtrain/dtrain.h \
    include/dtrain/dtrain_algorithm.h include/dtrain/dtrain_coordinator.h include/dtrain/dtrain_coordinator.hpp include/dtrain/dtrain_device.h include/dtrain/dtrain_memory.h include/dtrain/dtrain_ps.h include/dtrain/dtrain_ps.hpp include/dtrain/dtrain_store.h include/dtrain/dtrain_strategy.h include/dtrain/dtrain_work.h include/dtrain/dtrain.hpp include/dtrain/dtrain_store.hpp include/dtrain/dtrain_strategy.hpp include/dtrain/dtrain_training.hpp include/dtrain/dtrain_types.hpp \
    lib/pkgconfig/dtrain.pc lib/cmake/dtrain/dtrainConfig.cmake \
    lib/cmake/dtrain/dtrainConfigVersion.cmake share/man/man1/dtrain.1 share/man/man1/dtrain-run.1 share/man/man1/dtrain-check.1 share/man/man1/dtrain-bench.1 share/man/man1/dtrain-ps.1 share/man/man1/dtrain-token.1 share/man/man1/dtrain-job.1 share/man/man1/dtrain-export.1 share/man/man5/dtrain.job.toml.5 share/man/man1/dtrain-cache.1 share/man/man1/dtrain-config.1 share/man/man3/libdtrain.3 \
    share/man/man5/dtrain.toml.5 share/man/man5/dtrain-report.5 share/dtrain/report.schema.json share/dtrain/plan.schema.json share/dtrain/config.schema.json share/man/man7/dtrain-environment.7 \
    share/bash-completion/completions/dtrain share/zsh/site-functions/_dtrain \
    share/fish/vendor_completions.d/dtrain.fish share/doc/dtrain/examples/hello/main.c share/doc/dtrain/examples/gpu_allreduce/main.cu \
    share/doc/dtrain/examples/linear_regression/README.md share/doc/dtrain/examples/ci-smoke.sh \
    share/doc/dtrain/examples/pytorch_ddp/train.py share/doc/dtrain/examples/data/digits.csv \
    share/doc/dtrain/examples/CMakeLists.txt share/doc/dtrain/README.md share/doc/dtrain/docs/{jobs,libdtrain}.md; do
    expect test -s "prefix/$file"
  done
  expect test "$(readlink prefix/lib/libdtrain.so)" = libdtrain.so.0
  expect grep -q 'SONAME.*\[libdtrain\.so\.0\]' <(readelf -d prefix/lib/libdtrain.so)
  expect_not grep -rqF "$build_dir" prefix/lib/pkgconfig prefix/lib/cmake prefix/include prefix/share
  expect_not grep -rqF "$PWD" prefix/lib/pkgconfig prefix/lib/cmake prefix/share
  run prefix/bin/dtrain version
  expect_status 0
}

test_a_package_gets_the_same_files_under_its_destdir() {
  install_here
  make_install PREFIX=/opt/dtrain "DESTDIR=$PWD/stage"
  expect diff -r prefix stage/opt/dtrain
}

test_an_install_ends_with_what_programs_need_to_find_the_library() {
  install_here
  expect_stdout_contains "programs find libdtrain.so in $PWD/prefix/lib by: export LD_LIBRARY_PATH=$PWD/prefix/lib"
  make_install PREFIX=/opt/dtrain "DESTDIR=$PWD/stage"
  expect_stdout_contains 'programs find libdtrain.so in /opt/dtrain/lib after: ldconfig (as root'
}

test_uninstall_removes_what_install_made_and_leaves_the_rest() {
  install_here
  mkdir -p prefix/share/mine
  echo mine >prefix/share/mine/file
  echo mine >prefix/bin/other
  run env -u MAKEFLAGS -u MAKELEVEL make -C "$source_dir" --no-print-directory uninstall "PREFIX=$PWD/prefix"
  expect_status 0
  run find prefix -type f
  expect_stdout_lines prefix/bin/other prefix/share/mine/file
  run find prefix -mindepth 2 -type d -empty
  expect_stdout ''
  run env -u MAKEFLAGS -u MAKELEVEL make -C "$source_dir" --no-print-directory uninstall PREFIX=/nowhere
  expect_status 2
  expect_stderr_contains 'the last make install of this folder was not to /nowhere; give its PREFIX'
}

test_modes_are_those_of_files_for_everybody_whatever_the_umask() {
  umask 077
  install_here
  local programs=(prefix/bin/dtrain prefix/share/doc/dtrain/examples/ci-smoke.sh)
  run find prefix -type f ! -perm 0644
  expect_stdout_lines "${programs[@]}"
  run find prefix -type d ! -perm 0755
  expect_stdout ''
  run stat -c %a "${programs[@]}"
  expect_stdout_lines 755 755
}

test_programs_are_built_by_pkg_config_shared_and_static_in_c99_and_cpp20() {
  install_here
  write_programs
  export LD_LIBRARY_PATH=$PWD/prefix/lib
  build_by_pkg_config c_shared cc -std=c99 program.c
  build_by_pkg_config cpp_shared c++ -std=c++20 program.cc
  build_by_pkg_config c_static cc -std=c99 program.c --static
  build_by_pkg_config cpp_static c++ -std=c++20 program.cc --static
  for kind in shared static; do
    "expect_$kind" c_$kind
    "expect_$kind" cpp_$kind
    run ./c_$kind
    expect_stdout "$c_says"
    run ./cpp_$kind
    expect_stdout "$cpp_says"
  done
}

test_programs_are_built_by_find_package_shared_and_static_in_c99_and_cpp20_from_a_moved_prefix() {
  install_here
  mv prefix moved
  write_programs
  build_by_find_package "$PWD/moved"
  expect_shared build/c_dtrain
  expect_shared build/cpp_dtrain
  expect_static build/c_static
  expect_static build/cpp_static
  for kind in dtrain static; do
    run build/c_$kind
    expect_stdout "$c_says"
    run build/cpp_$kind
    expect_stdout "$cpp_says"
  done
  use_prefix "$PWD/moved"
  build_by_pkg_config again cc -std=c99 program.c
  run env LD_LIBRARY_PATH="$PWD/moved/lib" ./again
  expect_stdout "$c_says"
}

# page_blocks LANGUAGE: writes the blocks of code of $page in a language to files, and prints their names in order.
page_blocks() {
  awk -v language="$1" '$0 == "```" language { ++n; inside = 1; next }
    /^```/ { inside = 0 }
    inside { print >(language n ".block") }' "$page"
  find . -maxdepth 1 -name "$1[0-9]*.block" | sort -V
}

test_the_first_program_of_libdtrain_s_page_is_built_and_runs_word_for_word() {
  local page=$source_dir/docs/libdtrain.md
  install_here
  export LD_LIBRARY_PATH=$PWD/prefix/lib PATH=$PWD/prefix/bin:$PATH
  # shellcheck disable=SC2016  # words of the page
  build_line=$(grep -o '`c++ [^`]*`' "$page" | tr -d '`')
  # shellcheck disable=SC2016
  start_line=$(grep -o '`dtrain run [^`]* \./a\.out`' "$page" | tr -d '`')
  page_blocks cpp >blocks
  expect test -s blocks
  while read -r block; do
    cp "$block" train.cc
    run sh -c "$build_line"
    expect_status 0
    expect_stderr ''
    run sh -c "$start_line"
    expect_status 0
  done <blocks
  for block in $(page_blocks c); do
    cp "$block" train.c
    build_by_pkg_config a.out cc -std=c99 train.c
  done
  expect_no_processes
}

test_an_older_standard_is_refused_in_one_sentence() {
  install_here
  write_programs
  run sh -c 'c++ -std=c++17 -Wfatal-errors -fsyntax-only -Iprefix/include program.cc'
  expect_status 1
  expect_stderr_contains 'error: #error "dtrain.hpp needs C++20: compile with -std=c++20'
}

test_find_package_reports_the_reason_of_a_failure() {
  install_here
  printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(user C)' \
    'find_package(dtrain ${wanted} REQUIRED COMPONENTS ${part})' >CMakeLists.txt
  run cmake -S . -B a -D "CMAKE_PREFIX_PATH=$PWD/prefix" -D wanted=0.1 -D part=gpu
  expect_not test "$status" -eq 0
  expect_stderr_contains 'dtrain has no component gpu, only static'
  run cmake -S . -B b -D "CMAKE_PREFIX_PATH=$PWD/prefix" -D wanted=7.0
  expect_not test "$status" -eq 0
  expect_stderr_contains 'with requested version "7.0"'
}

test_the_shared_library_shows_its_public_names_only() {
  install_here
  run sh -c 'nm -D --defined-only prefix/lib/libdtrain.so | grep -v " dtrain_"'
  expect_stdout ''
  nm -D --defined-only prefix/lib/libdtrain.so | sed -n 's/.* T //p' | sort >exported
  cat prefix/include/dtrain/*.h | grep '^DTRAIN_API' | grep -o 'dtrain_[a-z_]*(' | tr -d '(' | sort >declared
  expect test "$(wc -l <declared)" -ge 51
  expect cmp declared exported
}

test_installed_programs_run_as_a_job() {
  install_here
  write_programs
  build_by_pkg_config program c++ -std=c++20 program.cc
  export LD_LIBRARY_PATH=$PWD/prefix/lib
  run prefix/bin/dtrain run -np 2 --no-tag ./program
  expect_status 0
  expect_stdout_lines 'C++: rank 0 of 2, sum 4' 'C++: rank 1 of 2, sum 4'
  # The installed examples can be built, too.
  local examples=prefix/share/doc/dtrain/examples
  build_by_pkg_config hello cc -std=c99 $examples/hello/main.c
  build_by_pkg_config line c++ -std=c++20 $examples/linear_regression/main.cc
  local nvcc
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  if [[ -x $nvcc && -x $build_dir/examples/gpu_allreduce ]]; then
    # shellcheck disable=SC2046  # several words
    run "$nvcc" -std=c++20 $examples/gpu_allreduce/main.cu -o gpu_allreduce $(pkg-config --cflags --libs dtrain)
    expect_status 0
    run env CUDA_VISIBLE_DEVICES= ./gpu_allreduce
    expect_status 1
    expect_stderr_contains 'gpu_allreduce: no usable GPU: '
  fi
  run prefix/bin/dtrain run -np 2 --no-tag ./hello
  expect_stdout_contains 'the ranks add up to 1'
  expect_no_processes
}

test_the_installed_examples_are_built_by_their_own_cmakelists() {
  install_here
  run cmake -G Ninja -S prefix/share/doc/dtrain/examples -B examples -D "CMAKE_PREFIX_PATH=$PWD/prefix"
  expect_status 0
  run cmake --build examples
  expect_status 0
  run prefix/bin/dtrain run -np 2 --no-tag examples/hello
  expect_stdout_contains 'the ranks add up to 1'
  run prefix/bin/dtrain run -np 2 examples/digits --epochs 1
  expect_status 0
  for example in in_graph keras_like_fit linear_regression; do expect test -x "examples/$example"; done
  expect_no_processes
}

test_installed_completions_are_those_that_the_binary_prints() {
  install_here
  expect diff prefix/share/bash-completion/completions/dtrain <("$DTRAIN" completion bash)
  expect diff prefix/share/zsh/site-functions/_dtrain <("$DTRAIN" completion zsh)
  expect diff prefix/share/fish/vendor_completions.d/dtrain.fish <("$DTRAIN" completion fish)
}

run_tests "$@"
