#include "launcher/report/conclusion.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>

namespace dt {
namespace {

struct ConclusionFixture {
  TemporaryFolder folder;
  std::unique_ptr<Runtime> runtime = Runtime::open({}, {}).value();
  JobRecord record;

  Outcome conclude_with_report(const std::string& path, const Outcome& outcome) {
    RunConfig config;
    config.report = path;
    auto report = ReportFile::open(path);
    return conclude(config, *runtime, record, outcome, report);
  }
};

TEST_CASE_FIXTURE(ConclusionFixture, "conclude writes the report of the outcome") {
  const Outcome failed = {.exit_status = 3, .reason = "a lost b", .reason_reported = true};
  CHECK(conclude_with_report(folder.path() + "/report", failed) == failed);
  const std::string text = folder.read("report");
  CHECK(text.find("\"exit_status\": 3") != std::string::npos);
  CHECK(text.find("\"reason\": \"a lost b\"") != std::string::npos);
}

TEST_CASE_FIXTURE(ConclusionFixture,
                  "conclude: a report that is lost fails a job that ended well") {
  CHECK(conclude_with_report("/dev/full", {}).exit_status == 1);
  const Outcome failed = {.exit_status = 7, .reason = "a lost b", .reason_reported = true};
  CHECK(conclude_with_report("/dev/full", failed) == failed);
}

TEST_CASE_FIXTURE(ConclusionFixture, "conclude keeps the reason why there is no report") {
  Result<ReportFile> report = fail(Errc::input, "no such folder");
  const Outcome refused = {.exit_status = 2, .reason = "no such folder", .reason_reported = true};
  CHECK(conclude({}, *runtime, record, refused, report) == refused);
}

}  // namespace
}  // namespace dt
