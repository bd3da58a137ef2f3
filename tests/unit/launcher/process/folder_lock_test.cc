#include "launcher/process/folder_lock.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dt {
namespace {

namespace fs = std::filesystem;

TEST_CASE("lock_folder locks a folder for one holder at a time, and locks nothing but folders") {
  std::string place = (fs::temp_directory_path() / "dtrain-lock-XXXXXX").string();
  REQUIRE(::mkdtemp(place.data()) != nullptr);
  {
    Fd held = lock_folder(place);
    REQUIRE(held);
    CHECK_FALSE(lock_folder(place));
    held.reset();
    CHECK(lock_folder(place));
  }
  std::ofstream(place + "/file") << "x";
  fs::create_directory_symlink(place, place + "/link");
  CHECK_FALSE(lock_folder(place + "/file"));
  CHECK_FALSE(lock_folder(place + "/link"));
  CHECK_FALSE(lock_folder(place + "/nothing"));
  fs::remove_all(place);
}

}  // namespace
}  // namespace dt
