# Finds libssh2 for launcher/ssh/libssh2.cc, the carrier to other hosts within this process. It sets:
#   DTRAIN_SSH_SOURCE     that file, or libssh2_absent.cc, with which the ssh command is the only carrier
#   DTRAIN_SSH_ABSENT     the reason for libssh2_absent.cc, for --verbose
#   DTRAIN_SSH_LIBRARIES  the libraries to link. The static one comes first: hosts of a job, and machines
#                         to which the binary is copied, have no libssh2.so
set(DTRAIN_SSH_SOURCE ssh/libssh2_absent.cc)
set(DTRAIN_SSH_ABSENT "this build has no libssh2 (-DDTRAIN_LIBSSH2=OFF)")
set(DTRAIN_SSH_LIBRARIES "")
if(NOT DTRAIN_LIBSSH2)
  return()
endif()

find_path(DTRAIN_LIBSSH2_INCLUDE libssh2.h)
find_library(DTRAIN_LIBSSH2_LIBRARY NAMES libssh2.a ssh2)
find_library(DTRAIN_ZLIB_LIBRARY NAMES libz.a z)
mark_as_advanced(DTRAIN_LIBSSH2_INCLUDE DTRAIN_LIBSSH2_LIBRARY DTRAIN_ZLIB_LIBRARY)
if(NOT DTRAIN_LIBSSH2_INCLUDE OR NOT DTRAIN_LIBSSH2_LIBRARY OR NOT DTRAIN_ZLIB_LIBRARY)
  set(DTRAIN_SSH_ABSENT "this build has no libssh2, which was not found")
  message(WARNING "libssh2 (Debian: libssh2-1-dev) was not found; dtrain will reach hosts by the ssh "
                  "command only. To say that you want it so, configure with -DDTRAIN_LIBSSH2=OFF.")
  return()
endif()

file(STRINGS "${DTRAIN_LIBSSH2_INCLUDE}/libssh2.h" version_line REGEX "define LIBSSH2_VERSION +\"")
string(REGEX REPLACE ".*\"([0-9]+\\.[0-9]+\\.[0-9]+).*" "\\1" version "${version_line}")
if(version MATCHES "^1\\.11\\.[01]$" AND NOT DTRAIN_LIBSSH2_PATCHED)
  set(DTRAIN_SSH_ABSENT "this build leaves libssh2 ${version} out because of CVE-2026-55200")
  message(WARNING "libssh2 ${version} has CVE-2026-55200: a server can write beyond its buffers before it "
                  "has proved who it is. dtrain will reach hosts by the ssh command only. If yours has the "
                  "fix, configure with -DDTRAIN_LIBSSH2_PATCHED=ON.")
  return()
endif()

set(DTRAIN_SSH_SOURCE ssh/libssh2.cc)
add_library(dtrain_libssh2 UNKNOWN IMPORTED GLOBAL)
# libssh2 uses the OpenSSL of base, which is linked into the binary.
set_target_properties(dtrain_libssh2 PROPERTIES
  IMPORTED_LOCATION ${DTRAIN_LIBSSH2_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${DTRAIN_LIBSSH2_INCLUDE}
  INTERFACE_LINK_LIBRARIES "dtrain_base;${DTRAIN_ZLIB_LIBRARY}")
set(DTRAIN_SSH_LIBRARIES dtrain_libssh2)
message(STATUS "libssh2 ${version}: ${DTRAIN_LIBSSH2_LIBRARY}")
