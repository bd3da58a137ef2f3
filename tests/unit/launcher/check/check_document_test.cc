#include "launcher/check/check_report.h"
#include "tests/unit/launcher/check/sample.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("the document has the findings of the table, and every member always") {
  CheckReport report = check_sample();
  report.seen[0].diagnosis = Diagnosis{.found = {.facts = {.hostname = "n"}}, .clock = {}};
  report.seen[2].unreachable = "it said this";
  const Json json = check_document(report);
  CHECK(Json::parse(json.text()).value() == json);
  CHECK(*json.find("check_version") == Json(1));
  CHECK(*json.find("status") == Json("failure"));
  const auto& hosts = *json.find("hosts")->as<Json::Array>();
  REQUIRE(hosts.size() == 3);
  for (const Json& host : hosts) {
    for (const char* member :
         {"name", "status", "findings", "connected_s", "clock_ahead_s", "clock_error_s", "facts"}) {
      CHECK(host.find(member) != nullptr);
    }
  }
  CHECK(*hosts[0].find("facts")->find("hostname") == Json("n"));
  CHECK(*hosts[2].find("connected_s") == Json());
  const auto& finding = hosts[1].find("findings")->as<Json::Array>()->at(1);
  CHECK(*finding.find("topic") == Json("shared_memory"));
  CHECK(*finding.find("status") == Json("warning"));
  const auto& pairs = *json.find("pairs")->as<Json::Array>();
  REQUIRE(pairs.size() == 2);
  CHECK(*pairs[0].find("round_trip_s")->as<double>() == doctest::Approx(52e-6));
  CHECK(*pairs[0].find("bytes_per_s")->as<double>() == doctest::Approx((1 << 26) / 0.05));
  CHECK(*pairs[1].find("bytes_per_s") == Json());
}

}  // namespace
}  // namespace dt
