#!/usr/bin/env bash
# What `make install` puts down, and that programs in C and C++ can be built with it alone.
. "$(dirname "$0")/lib.sh"
build_dir=$(dirname "$DTRAIN")

# Installs into ./prefix of the test's folder and lets pkg-config look there only.
install_here() {
  run cmake --install "$build_dir" --prefix "$PWD/prefix"
  expect_status 0
  export PKG_CONFIG_LIBDIR=$PWD/prefix/lib/pkgconfig PKG_CONFIG_PATH=
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

# build_program COMPILER FLAGS SOURCE [--static]: libdtrain and what it needs come from pkg-config.
build_program() {
  local flags
  # shellcheck disable=SC2086  # an option of pkg-config or none
  flags=$(pkg-config --cflags --libs ${4-} dtrain)
  if [[ ${4-} == --static ]]; then flags=${flags/-ldtrain/-l:libdtrain.a}; fi
  # shellcheck disable=SC2086  # several words each
  run $1 $2 -Wall -Wextra -Wpedantic -Werror "$3" -o program $flags
  expect_status 0
}

test_the_files_are_where_the_words_say() {
  install_here
  for file in bin/dtrain lib/libdtrain.so lib/libdtrain.a include/dtrain/dtrain.h \
    include/dtrain/dtrain.hpp lib/pkgconfig/dtrain.pc; do
    expect test -s "prefix/$file"
  done
  expect_not grep -rqF "$build_dir" prefix/lib/pkgconfig prefix/include
  run prefix/bin/dtrain version
  expect_status 0
}

test_a_moved_prefix_still_works() {
  install_here
  mv prefix moved
  export PKG_CONFIG_LIBDIR=$PWD/moved/lib/pkgconfig
  write_programs
  build_program cc -std=c99 program.c
  run env LD_LIBRARY_PATH="$PWD/moved/lib" ./program
  expect_stdout 'C: rank 0 of 1'
}

test_a_c99_program_links_the_shared_library() {
  install_here
  write_programs
  build_program cc -std=c99 program.c
  run env LD_LIBRARY_PATH="$PWD/prefix/lib" ./program
  expect_status 0
  expect_stdout 'C: rank 0 of 1'
}

test_a_c99_program_links_the_static_library() {
  install_here
  write_programs
  build_program cc -std=c99 program.c --static
  run ./program
  expect_status 0
  expect_stdout 'C: rank 0 of 1'
}

test_a_cpp20_program_links_the_shared_library() {
  install_here
  write_programs
  build_program c++ -std=c++20 program.cc
  run env LD_LIBRARY_PATH="$PWD/prefix/lib" ./program
  expect_status 0
  expect_stdout 'C++: rank 0 of 1, sum 2'
}

test_a_cpp20_program_links_the_static_library() {
  install_here
  write_programs
  build_program c++ -std=c++20 program.cc --static
  run ./program
  expect_status 0
  expect_stdout 'C++: rank 0 of 1, sum 2'
}

test_the_shared_library_shows_its_public_names_only() {
  install_here
  run sh -c 'nm -D --defined-only prefix/lib/libdtrain.so | grep " [TBDVWRu] " | grep -v " dtrain_"'
  expect_stdout ''
}

test_installed_programs_run_as_a_job() {
  install_here
  write_programs
  build_program c++ -std=c++20 program.cc
  run env LD_LIBRARY_PATH="$PWD/prefix/lib" prefix/bin/dtrain run -np 2 --no-tag ./program
  expect_status 0
  expect_stdout_lines 'C++: rank 0 of 2, sum 4' 'C++: rank 1 of 2, sum 4'
  expect_no_processes
}

run_tests "$@"
