# The compiler settings of all our targets, in the interface target dtrain_flags.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# Assertions stay on in release builds: they guard against our own bugs.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")
set(CMAKE_C_FLAGS_DEBUG "-Og -g")
# Headers are two thirds of a compilation. The presets dev and tsan compile file by file, so that each
# file stays complete by itself.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
if(CMAKE_CXX_CLANG_TIDY)
  # clang-tidy reads headers for half its time, where a compiler generates code.
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 48)
endif()

find_program(DTRAIN_CCACHE ccache)
if(DTRAIN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache finds files with a precompiled header again only with this sloppiness. With paths relative to the source,
  # the build of the wheel finds what the release build has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${DTRAIN_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

add_library(dtrain_flags INTERFACE)
target_include_directories(dtrain_flags INTERFACE ${PROJECT_SOURCE_DIR})
# Designated initialisers leave members at their defaults on purpose, so this warning is useless.
target_compile_options(dtrain_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Wno-missing-field-initializers
  # In C++, clang's -Wconversion includes -Wsign-conversion, which gcc's does not.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  -fstack-protector-strong -ffunction-sections -fdata-sections
  $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection>)
target_compile_definitions(dtrain_flags INTERFACE _GNU_SOURCE)
target_link_options(dtrain_flags INTERFACE -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,noexecstack)

if(CMAKE_UNITY_BUILD)
  # In a unity build, gcc treats each .cc file as a header, and warns of its types with internal linkage.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

if(DTRAIN_SANITIZE)
  add_compile_options(-fsanitize=${DTRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # Such a build runs once, and takes half the time of one with -O1 -g. Reports still have line numbers.
  add_compile_options(-Og -g1)
  add_link_options(-fsanitize=${DTRAIN_SANITIZE})
  if(DTRAIN_SANITIZE STREQUAL thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # TSan does not know fences. Ours order no data, only a position and the flag of a sleeper.
    add_compile_options(-Wno-tsan)
  endif()
  # By its manual, gcc warns falsely of uninitialised values under sanitizers.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # Checks each access for empty optionals and indices out of range.
  add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
else()
  target_compile_definitions(dtrain_flags INTERFACE $<$<CONFIG:Release>:_FORTIFY_SOURCE=3>)
endif()

if(DTRAIN_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Makes the static library of a folder: dtrain_folder(<name> SOURCES … LINK …).
function(dtrain_folder name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(dtrain_${name} STATIC ${arg_SOURCES})
  target_link_libraries(dtrain_${name} PUBLIC dtrain_flags ${arg_LINK})
endfunction()
