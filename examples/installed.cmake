# Builds the examples in C and C++ with an installed libdtrain, from wherever this folder lies:
#   cmake -S . -B /tmp/examples && cmake --build /tmp/examples
# Where dtrain is installed to a folder of its own, add -D CMAKE_PREFIX_PATH=FOLDER. The example for GPUs has its own
# command line, in its README.md.
cmake_minimum_required(VERSION 3.16)
project(dtrain_examples LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 20)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(dtrain REQUIRED)

# The sources include "examples/digits/…", whatever the name of this folder.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/include/examples SYMBOLIC)
include_directories(${CMAKE_BINARY_DIR}/include)
link_libraries(dtrain::dtrain)

add_executable(hello hello/main.c)
foreach(example in_graph keras_like_fit linear_regression)
  add_executable(${example} ${example}/main.cc)
endforeach()
add_executable(digits digits/main.cc digits/images.cc digits/network.cc digits/no_gpu_trainer.cc digits/options.cc
                      digits/sampling.cc digits/trainer.cc)
target_compile_definitions(digits PRIVATE DIGITS_BUILT_FROM="${CMAKE_SOURCE_DIR}/data/digits.csv")
