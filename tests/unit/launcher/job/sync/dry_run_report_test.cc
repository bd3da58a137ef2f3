#include "launcher/job/sync/dry_run_report.h"

#include "base/json.h"
#include "tests/unit/launcher/job/local_plan.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

Json sync_of(const RunConfig& config) {
  const auto text = dry_run_report(plan_of(1), config, {});
  REQUIRE(text);
  const auto document = Json::parse(*text);
  REQUIRE(document);
  REQUIRE(document->find("sync"));
  return *document->find("sync");
}

TEST_CASE("the plan's document has the files of --sync, and null without it") {
  const TemporaryFolder folder;
  folder.write("part/large", std::string(3000, 'x'));
  folder.write("small", "12345");
  RunConfig config;
  config.json = true;
  CHECK(sync_of(config) == Json());
  config.sync.emplace();
  config.sync->from = folder.path();
  const Json sync = sync_of(config);
  CHECK(*sync.find("root") == Json(folder.path()));
  CHECK(*sync.find("commit") == Json());
  CHECK(*sync.find("files") == Json(2));
  CHECK(*sync.find("bytes") == Json(3005));
  CHECK(sync.find("largest")->text() == R"([{"path":"part/large","bytes":3000,"folder":false},)"
                                        R"({"path":"small","bytes":5,"folder":false}])");
  CHECK(sync.find("warnings")->text() == "[]");
}

TEST_CASE("the files of --sync are lines behind the plan, and too many are an error") {
  const TemporaryFolder folder;
  folder.write("small", "12345");
  RunConfig config;
  config.sync.emplace();
  config.sync->from = folder.path();
  const auto text = dry_run_report(plan_of(1), config, {});
  REQUIRE(text);
  CHECK(text->find("1 processes on 1 host") == 0);
  CHECK(text->find("sync: 1 file, 5 bytes from " + folder.path()) != std::string::npos);
  config.sync->bytes_max = 4;
  for (const bool json : {false, true}) {
    config.json = json;
    CHECK_FALSE(dry_run_report(plan_of(1), config, {}));
  }
}

}  // namespace
}  // namespace dt
