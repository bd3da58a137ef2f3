#include "launcher/process/line_buffer.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("the library for line-buffered stdout is a file that everybody may read, or none") {
  const TemporaryFolder folder;
  const std::string path = write_line_buffer(folder.path());
  CHECK(path == folder.path() + "/dtrain_line_buffer.so");
  CHECK(folder.read("dtrain_line_buffer.so")
            .starts_with("\x7F"
                         "ELF"));
  CHECK(write_line_buffer(folder.path()).empty());
  CHECK(write_line_buffer("/proc").empty());
}

TEST_CASE("the library is the last that is preloaded, and an outer job's is none of the user's") {
  Environment environment = {{"LD_PRELOAD", "libtcmalloc.so"}};
  add_line_buffer(environment, "/x/dtrain_line_buffer.so");
  CHECK(environment == Environment{{"ASAN_OPTIONS", "verify_asan_link_order=0"},
                                   {"LD_PRELOAD", "libtcmalloc.so:/x/dtrain_line_buffer.so"}});
  remove_line_buffer(environment);
  CHECK(environment == Environment{{"LD_PRELOAD", "libtcmalloc.so"}});
  remove_line_buffer(environment);
  CHECK(environment == Environment{{"LD_PRELOAD", "libtcmalloc.so"}});
}

TEST_CASE("programs that start others elsewhere are known by name") {
  CHECK(leaves_our_files({"timeout", "9", "/usr/bin/apptainer", "exec"}));
  CHECK_FALSE(leaves_our_files({"sh", "-c", "suite"}));
}

}  // namespace
}  // namespace dt
