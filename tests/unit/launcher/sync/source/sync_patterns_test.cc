#include "launcher/sync/source/sync_patterns.h"

#include <doctest/doctest.h>

#include <fnmatch.h>

namespace dt {
namespace {

TEST_CASE("a pattern that matches a folder holds for all below it, and included wins") {
  const SyncPatterns patterns({"data", "*.ckpt", "out/"}, {"data/small", "best.ckpt"});
  CHECK(patterns.excludes("data"));
  CHECK(patterns.excludes("data/x/y"));
  CHECK(patterns.excludes("out/x"));
  CHECK(patterns.excludes("a/b.ckpt"));
  CHECK(patterns.excludes("a.ckpt/x"));
  CHECK_FALSE(patterns.excludes("database"));
  CHECK_FALSE(patterns.excludes("src/data"));
  CHECK_FALSE(patterns.excludes("data/small"));
  CHECK_FALSE(patterns.excludes("data/small/x"));
  CHECK_FALSE(patterns.excludes("best.ckpt"));
  CHECK(patterns.includes("data/small/x"));
  CHECK_FALSE(patterns.includes("data"));
  CHECK_FALSE(SyncPatterns({}, {}).excludes("x"));
  CHECK_FALSE(SyncPatterns({}, {}).has_included());
}

TEST_CASE("folders are searched only where a pattern may include something below them") {
  const SyncPatterns patterns({}, {"data/a*", "lib/x/y", "dir"});
  CHECK(patterns.may_include_below("data"));
  CHECK(patterns.may_include_below("data/a1"));
  CHECK(patterns.may_include_below("lib"));
  CHECK(patterns.may_include_below("lib/x"));
  CHECK(patterns.may_include_below("dir/deep"));
  CHECK_FALSE(patterns.may_include_below("data/b"));
  CHECK_FALSE(patterns.may_include_below("lib/z"));
  CHECK_FALSE(patterns.may_include_below("node_modules"));
  CHECK(SyncPatterns({}, {"*.so"}).may_include_below("node_modules"));
  CHECK(SyncPatterns({}, {"\\*x"}).may_include_below("*x"));
}

TEST_CASE("a literal pattern matches its path alone") {
  for (const char* path : {"a*b", "a?b", "a[b]", "a\\b", "plain/path"}) {
    const std::string pattern = literal_pattern(path);
    CHECK(::fnmatch(pattern.c_str(), path, 0) == 0);
    CHECK(::fnmatch(pattern.c_str(), "aXb", 0) != 0);
  }
}

}  // namespace
}  // namespace dt
