#!/usr/bin/env bash
# The choice of libssh2 at build time: a project of its own configures cmake/libssh2.cmake with a header of
# some version.
. "$(dirname "$0")/lib.sh"
module=$(realpath "$(dirname "$0")/../../cmake/libssh2.cmake")

# configure VERSION [ARGUMENT…]: prints the choice of the module.
configure() {
  mkdir -p include
  printf '#define LIBSSH2_VERSION                             "%s"\n' "$1" >include/libssh2.h
  shift
  cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(gate NONE)
option(DTRAIN_LIBSSH2 "" ON)
include($module)
message(STATUS "source \${DTRAIN_SSH_SOURCE}, absent: \${DTRAIN_SSH_ABSENT}")
END
  run cmake -S . -B build -DDTRAIN_LIBSSH2_INCLUDE="$PWD/include" \
    -DDTRAIN_LIBSSH2_LIBRARY="$PWD/libssh2.a" -DDTRAIN_ZLIB_LIBRARY="$PWD/libz.a" "$@"
}

test_versions_without_a_known_hole_are_taken() {
  local version
  for version in 1.10.0 1.11.2 1.12.0; do
    configure "$version"
    expect_status 0
    expect_stdout_contains 'source ssh/libssh2.cc'
  done
}

test_1_11_0_and_1_11_1_are_left_out_with_the_reason() {
  local version
  for version in 1.11.0 1.11.1 1.11.1_DEV; do
    configure "$version"
    expect_status 0
    expect_stdout_contains "source ssh/libssh2_absent.cc, absent: this build leaves libssh2 ${version%_DEV} out because of CVE-2026-55200"
    expect_stderr_contains 'DTRAIN_LIBSSH2_PATCHED=ON'
  done
}

test_a_patched_1_11_1_is_taken_on_request_of_the_builder() {
  configure 1.11.1 -DDTRAIN_LIBSSH2_PATCHED=ON
  expect_stdout_contains 'source ssh/libssh2.cc'
}

test_without_libssh2_the_build_continues_and_reports_it() {
  configure 1.10.0 -DDTRAIN_LIBSSH2_LIBRARY=
  expect_status 0
  expect_stdout_contains 'source ssh/libssh2_absent.cc, absent: this build has no libssh2, which was not found'
  expect_stderr_contains 'libssh2-1-dev'
  configure 1.10.0 -DDTRAIN_LIBSSH2_LIBRARY= -DDTRAIN_LIBSSH2=OFF
  expect_status 0
  expect_stdout_contains 'source ssh/libssh2_absent.cc, absent: this build has no libssh2'
}

run_tests "$@"
