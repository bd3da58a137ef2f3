#include "launcher/sync/store/tree_writer.h"

#include "base/io/fd.h"
#include "tests/unit/launcher/sync/store/store_fixture.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>

namespace dt {
namespace {

TEST_CASE("write_all: the index has the facts of each file") {
  StoreFixture host;
  Manifest manifest = host.files({{"a/b", "1"}, {"c", ""}});
  StoreFixture::add(manifest, sync_link("l", "c"));
  std::filesystem::create_directories(host.home("tree"));
  std::vector<size_t> reports;
  const TreeWriter::OnProgress report = [&](BuildProgress at) { reports.push_back(at.done); };
  TreeWriter writer(manifest, host.objects, report);
  const TreeIndex index = writer.write_all(host.home("tree")).value();
  REQUIRE(index.placed.size() == 3);
  struct stat status = {};
  REQUIRE(::stat(host.home("tree/a/b").c_str(), &status) == 0);
  CHECK(index.placed[0].facts == facts_of(status));
  CHECK(index.placed[2].entry == manifest.entries[2]);
  CHECK(reports == std::vector<size_t>{3});
}

TEST_CASE("an object that is gone or broken is not found, and names its file") {
  StoreFixture host;
  std::filesystem::create_directories(host.home("tree"));
  Manifest manifest = host.files({{"a", "content"}});
  const std::string object = host.objects.path() + "/" + object_name(manifest.entries[0].digest);
  SUBCASE("gone") {
    std::filesystem::remove(object);
  }
  SUBCASE("cut") {
    std::filesystem::resize_file(object, 3);
  }
  TreeWriter writer(manifest, host.objects, {});
  const Error error = writer.write_all(host.home("tree")).error();
  CHECK(error.code == Errc::not_found);
  CHECK(error.message.find("the content of a") != std::string::npos);
}

}  // namespace
}  // namespace dt
