# Finds a CUDA Toolkit, where DTRAIN_CUDA and the kind of the build allow one. Sets:
#   dtrain_cuda          ON or OFF
#   dtrain_cuda_version  "13.0"
#   dtrain_nvcc, dtrain_cuda_include, dtrain_cudart  the compiler, the headers, libcudart_static.a
#   dtrain_nccl_include  the folder of nccl.h; empty: none was found
#   dtrain_nccl_library  a libnccl.so.2 for tests; empty: none was found
set(dtrain_cuda OFF)
set(dtrain_cuda_version_min 12.8) # the first with the architectures of all current GPUs
# One binary for all of them. GPUs between two numbers run the code of the lower one, as 86 runs that of 80. Newer
# ones compile the last PTX.
set(dtrain_cuda_architectures 75 80 89 90 100 120)
# An architecture's machine code is made of the newest PTX that it can run. Making the PTX takes most of a compilation.
# Code behind a number of __CUDA_ARCH__ needs the PTX of that number, as the conversions in float8.cuh.
set(dtrain_cuda_ptx 75 80 89 90)
# Examples and the programs of tests: code for the GPUs of data centers, and PTX for all others. To make one PTX is
# seven times faster than code for all.
set(dtrain_cuda_program_architectures 90)
set(dtrain_cuda_program_ptx 75)

# Sets dtrain_cuda and the paths when a complete toolkit lies at `root`, else appends the reason to cuda_refused.
macro(dtrain_try_toolkit root)
  set(cuda_header ${root}/include/cuda_runtime_api.h)
  file(GLOB cuda_archives ${root}/lib64/libcudart_static.a ${root}/lib/libcudart_static.a
       ${root}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libcudart_static.a)
  if(EXISTS ${root}/bin/nvcc AND EXISTS ${cuda_header} AND cuda_archives)
    file(STRINGS ${cuda_header} cuda_number REGEX "^#define CUDART_VERSION")
    string(REGEX MATCH "[0-9]+" cuda_number "${cuda_number}")
    math(EXPR cuda_major "${cuda_number} / 1000")
    math(EXPR cuda_minor "${cuda_number} % 1000 / 10")
    if(${cuda_major}.${cuda_minor} VERSION_LESS dtrain_cuda_version_min)
      string(APPEND cuda_refused "; ${root} has ${cuda_major}.${cuda_minor}")
    else()
      set(dtrain_cuda ON)
      set(dtrain_cuda_version ${cuda_major}.${cuda_minor})
      set(dtrain_nvcc ${root}/bin/nvcc)
      set(dtrain_cuda_include ${root}/include)
      list(GET cuda_archives 0 dtrain_cudart)
    endif()
  endif()
endmacro()

set(cuda_refused "")
if(DTRAIN_SANITIZE OR DTRAIN_FUZZ)
  # Nothing of CUDA can be instrumented.
  if(DTRAIN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "DTRAIN_CUDA=ON, but a build with sanitizers has no GPU parts; use DTRAIN_CUDA=OFF")
  endif()
elseif(NOT DTRAIN_CUDA STREQUAL "OFF")
  set(cuda_roots ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH})
  find_program(DTRAIN_NVCC_IN_PATH nvcc)
  mark_as_advanced(DTRAIN_NVCC_IN_PATH)
  if(DTRAIN_NVCC_IN_PATH)
    file(REAL_PATH ${DTRAIN_NVCC_IN_PATH} cuda_nvcc)
    cmake_path(GET cuda_nvcc PARENT_PATH cuda_bin)
    cmake_path(GET cuda_bin PARENT_PATH cuda_root)
    list(APPEND cuda_roots ${cuda_root})
  endif()
  list(APPEND cuda_roots /usr/local/cuda ${PROJECT_SOURCE_DIR}/build/gpu-toolkit/cuda)
  foreach(root ${cuda_roots})
    if(NOT dtrain_cuda)
      dtrain_try_toolkit(${root})
    endif()
  endforeach()
  if(DTRAIN_CUDA STREQUAL "ON" AND NOT dtrain_cuda)
    message(FATAL_ERROR "DTRAIN_CUDA=ON, but no CUDA Toolkit ${dtrain_cuda_version_min} or newer was "
      "found${cuda_refused}; set CUDAToolkit_ROOT, or get one: make gpu-toolkit")
  endif()
endif()

if(dtrain_cuda)
  message(STATUS "dtrain: GPU parts by CUDA ${dtrain_cuda_version}, ${dtrain_nvcc}")
  cmake_path(GET dtrain_cuda_include PARENT_PATH cuda_root)
  # PyPI's packages have a folder each.
  file(REAL_PATH ${cuda_root} cuda_root)
  find_path(DTRAIN_NCCL_INCLUDE nccl.h HINTS ${cuda_root}/include ${cuda_root}/../nccl/include)
  mark_as_advanced(DTRAIN_NCCL_INCLUDE)
  set(dtrain_nccl_include "")
  if(DTRAIN_NCCL_INCLUDE)
    set(dtrain_nccl_include ${DTRAIN_NCCL_INCLUDE})
  endif()
  find_library(DTRAIN_NCCL_LIBRARY libnccl.so.2 HINTS ${cuda_root}/lib ${cuda_root}/lib64 ${cuda_root}/../nccl/lib)
  mark_as_advanced(DTRAIN_NCCL_LIBRARY)
  set(dtrain_nccl_library "")
  if(DTRAIN_NCCL_LIBRARY)
    set(dtrain_nccl_library ${DTRAIN_NCCL_LIBRARY})
  endif()
elseif(DTRAIN_CUDA STREQUAL "AUTO" AND NOT DTRAIN_SANITIZE AND NOT DTRAIN_FUZZ)
  message(NOTICE "dtrain: the GPU parts are off: there is no CUDA Toolkit ${dtrain_cuda_version_min} or "
    "newer${cuda_refused}. To get one below build/: make gpu-toolkit")
else()
  message(STATUS "dtrain: the GPU parts are off (DTRAIN_CUDA=${DTRAIN_CUDA})")
endif()

# The options of nvcc for all .cu files. CMake's language CUDA needs a toolkit's usual folders, tests nvcc at each
# configuration, and chooses the linker. So the rules are our own.
set(dtrain_nvcc_flags -std=c++20 -O3 -I${PROJECT_SOURCE_DIR} -ccbin ${CMAKE_CXX_COMPILER}
    # The CPU multiplies and adds in two roundings, and so do the kernels.
    -fmad=false
    # The elements of base/ have constexpr functions.
    --expt-relaxed-constexpr
    --Werror=all-warnings)

# Compiles .cu files of the current folder for all architectures, and sets `objects` to their object files.
function(dtrain_compile_cuda objects)
  if(CMAKE_CXX_CLANG_TIDY)
    # The build for clang-tidy has no compiler, and links nothing.
    set(${objects} "" PARENT_SCOPE)
    return()
  endif()
  # A kernel that spills registers is not compiled.
  set(flags -c -Xptxas=--warn-on-spills,--warning-as-error --compress-mode=size)
  foreach(architecture ${dtrain_cuda_architectures})
    set(newest ${architecture})
    foreach(ptx ${dtrain_cuda_ptx})
      if(NOT ptx GREATER architecture)
        set(newest ${ptx})
      endif()
    endforeach()
    list(APPEND flags -gencode arch=compute_${newest},code=sm_${architecture})
  endforeach()
  list(GET dtrain_cuda_ptx -1 last)
  list(APPEND flags -gencode arch=compute_${last},code=compute_${last})
  foreach(option -fPIC -fvisibility=hidden -fstack-protector-strong -ffunction-sections -fdata-sections -Wall -Wextra
          -Werror -Wno-unknown-pragmas $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection>)
    list(APPEND flags $<$<BOOL:${option}>:-Xcompiler=${option}>)
  endforeach()
  set(made "")
  foreach(source ${ARGN})
    # A program may have the name of the source's folder.
    string(REPLACE "/" "_" object ${source})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${object}.o)
    cmake_path(GET object PARENT_PATH folder)
    file(MAKE_DIRECTORY ${folder})
    set(path ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${dtrain_nvcc} ${dtrain_nvcc_flags} ${flags} -MD -MF ${object}.d
              ${path} -o ${object}
      DEPENDS ${path} DEPFILE ${object}.d COMMAND_EXPAND_LISTS VERBATIM COMMENT "Compiling ${name}")
    list(APPEND made ${object})
  endforeach()
  set(${objects} ${made} PARENT_SCOPE)
endfunction()

# Compiles .cu files of the current folder to the PTX of the oldest architecture. The driver compiles that for the GPU
# when a kernel of such a file is first used, and caches the result.
function(dtrain_compile_cuda_ptx objects)
  set(dtrain_cuda_architectures "")
  list(GET dtrain_cuda_ptx 0 dtrain_cuda_ptx)
  dtrain_compile_cuda(made ${ARGN})
  set(${objects} ${made} PARENT_SCOPE)
endfunction()

# Adds the objects of libcudart_static.a to a static library of ours, so that programs link where no toolkit is.
function(dtrain_add_cuda_runtime target)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}_cuda_runtime.mri)
  file(CREATE_LINK ${dtrain_cudart} ${CMAKE_CURRENT_BINARY_DIR}/libcudart_static.a SYMBOLIC)
  # ar's script has no quotes, so the paths are relative.
  file(GENERATE OUTPUT ${script}
       CONTENT "OPEN $<TARGET_FILE_NAME:${target}>\nADDLIB libcudart_static.a\nSAVE\nEND\n")
  add_custom_command(TARGET ${target} POST_BUILD WORKING_DIRECTORY $<TARGET_FILE_DIR:${target}>
    COMMAND sh -c "\"$1\" -M <\"$2\"" sh ${CMAKE_AR} ${script} VERBATIM)
endfunction()
