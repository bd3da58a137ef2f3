# find_package(dtrain) gives dtrain::dtrain, the shared library. Where OpenSSL 3 and threads are found, it also gives
# dtrain::static. Without these, find_package(dtrain COMPONENTS static) fails with the reason.
include(${CMAKE_CURRENT_LIST_DIR}/dtrainShared.cmake)

set(dtrain_static_FOUND FALSE)
find_package(Threads QUIET)
find_package(OpenSSL 3.0 QUIET)
if(Threads_FOUND AND OpenSSL_FOUND)
  include(${CMAKE_CURRENT_LIST_DIR}/dtrainStatic.cmake)
  set(dtrain_static_FOUND TRUE)
endif()

foreach(component ${dtrain_FIND_COMPONENTS})
  if(NOT component STREQUAL "static")
    set(dtrain_FOUND FALSE)
    set(dtrain_NOT_FOUND_MESSAGE "dtrain has no component ${component}, only static")
  elseif(dtrain_FIND_REQUIRED_static AND NOT dtrain_static_FOUND)
    set(dtrain_FOUND FALSE)
    set(dtrain_NOT_FOUND_MESSAGE "dtrain::static needs OpenSSL 3.0 or newer (libcrypto) and threads")
  endif()
endforeach()
