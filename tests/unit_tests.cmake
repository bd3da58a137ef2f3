# The program of all unit tests, and a test for each source file.

# One program has all unit tests, so there is one link. CTest runs its cases in parallel, by source file.
file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS unit/*.cc)
list(FILTER unit_sources EXCLUDE REGEX "/unit/main\\.cc$")
file(GLOB_RECURSE unit_c_sources CONFIGURE_DEPENDS unit/*.c)
set(unit_libraries dtrain_man dtrain_cmd dtrain_check dtrain_launcher)
if(DTRAIN_SANITIZE MATCHES thread)
  # Only code that owns threads, or that several threads call. The launcher and the agent have one thread
  # (ARCHITECTURE.md), but for those of the Resolver. Kernels have no shared data, but for those of peers.
  set(unit_libraries dtrain_ssh dtrain_process)
  list(FILTER unit_sources INCLUDE REGEX
       "/unit/(comm/(api|device|driver|memory|peer|shared|training/[a-z/]*|transport)|gpu|gpu/[a-z_]*|launcher/ssh)/[a-z0-9_]*\\.cc$")
  list(FILTER unit_sources EXCLUDE REGEX "/training/ps/state/|/gpu/kernels/(copy|kernel|other|reduce)_[a-z_]*test\\.cc$")
endif()
# As in base/CMakeLists.txt: one of two files has the facts of the CPU.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  list(FILTER unit_sources EXCLUDE REGEX "/kernels/cpu_portable_test\\.cc$")
else()
  list(FILTER unit_sources EXCLUDE REGEX "/kernels/cpu_x86_64_test\\.cc$")
endif()
# As in gpu/CMakeLists.txt and examples/CMakeLists.txt.
if(dtrain_cuda)
  list(FILTER unit_sources EXCLUDE REGEX "/(gpu/cuda/no_cuda|digits/no_gpu_trainer)_test\\.cc$")
else()
  list(FILTER unit_sources EXCLUDE REGEX "/gpu/(cuda/cuda_[a-z_]*|kernels/kernel_table)_test\\.cc$")
endif()

# Where the rest is a unity build, test files are compiled in batches, which read their headers once. CMake's own
# batches do not fit: each file has fixtures in its unnamed namespace, often of the same name. Here that gets a name. The
# files of a batch are of one folder, so that no file meets other ones in a build with other parts.
set(compiled ${unit_sources})
if(batches AND NOT CMAKE_CXX_CLANG_TIDY)
  set(compiled "")
  set(batch "")
  set(batch_files 0)
  # Ends a batch that has begun.
  macro(write_batch)
    if(batch_files GREATER 0)
      list(LENGTH compiled number)
      set(file ${CMAKE_CURRENT_BINARY_DIR}/batches/unit_${number}.cc)
      set(written "")
      if(EXISTS ${file})
        file(READ ${file} written)
      endif()
      if(NOT written STREQUAL batch)
        file(WRITE ${file} "${batch}")
      endif()
      list(APPEND compiled ${file})
      set(batch "")
      set(batch_files 0)
    endif()
  endmacro()
  foreach(source ${unit_sources})
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    cmake_path(GET path PARENT_PATH folder)
    if(batch_files EQUAL 8 OR NOT folder STREQUAL batch_folder)
      write_batch()
    endif()
    set(batch_folder ${folder})
    file(READ ${source} text)
    string(MAKE_C_IDENTIFIER ${path} name)
    string(REPLACE "\nnamespace {\n" "\nnamespace ${name} {\n" text "${text}")
    string(APPEND batch "#line 1 \"${source}\"\n${text}")
    math(EXPR batch_files "${batch_files} + 1")
  endforeach()
  write_batch()
endif()
add_executable(dtrain_unit ${compiled} ${unit_c_sources})
# The public header is C99 for every compiler, not only for those with GNU's extensions.
set_source_files_properties(${unit_c_sources} PROPERTIES COMPILE_OPTIONS "-std=c99;-pedantic-errors")
target_link_libraries(dtrain_unit PRIVATE ${unit_libraries} dtrain_comm dtrain_rendezvous dtrain_gpu dtrain_base digits_parts
                                          unit_main)
# The stand-ins for NVIDIA's libraries that tests load.
target_compile_definitions(dtrain_unit PRIVATE
  FAKE_NVML="$<TARGET_FILE:fake_nvml>" OLD_NVML="$<TARGET_FILE:old_nvml>" FAKE_NCCL="$<TARGET_FILE:fake_nccl>"
  FAKE_NCCL_BROKEN="$<TARGET_FILE:fake_nccl_broken>" FAKE_DRIVER="$<TARGET_FILE:fake_driver>"
  REAL_NCCL="${dtrain_nccl_library}")
add_dependencies(dtrain_unit fake_nvml old_nvml fake_nccl fake_nccl_broken fake_driver)
# The optimizer takes half the time of a test file at -O2, and finds nothing to do there.
target_compile_options(dtrain_unit PRIVATE -Og)
if(DTRAIN_SANITIZE MATCHES undefined)
  # In test files AddressSanitizer sees what these would; in the code under test they stay.
  target_compile_options(dtrain_unit PRIVATE -fno-sanitize=null,alignment,object-size)
  if(NOT DTRAIN_TEST_LONG)
    # Takes a fifth of the time. Test files mostly call code under test, which has all checks.
    target_compile_options(dtrain_unit PRIVATE -fno-sanitize=undefined -fno-sanitize-address-use-after-scope)
  endif()
endif()
if(DTRAIN_PRECOMPILE_HEADERS)
  target_precompile_headers(dtrain_unit PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CURRENT_SOURCE_DIR}/unit/common_headers.h>")
endif()
# unit/launcher/plan/binding_test.cc is the test unit.launcher.plan.binding_test.
foreach(source ${unit_sources})
  file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR}/unit ${source})
  if(path MATCHES "^(.*_test)\\.cc$")
    string(REPLACE "/" "." name ${CMAKE_MATCH_1})
    add_test(NAME unit.${name} COMMAND dtrain_unit --source-file=*/unit/${path})
    set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT ${unit_timeout})
  endif()
endforeach()
