#include "comm/training/ps/common_checkpoint.h"

#include "tests/unit/comm/training/ps/ps_job.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

/// Returns the step that two servers with these files choose, or the error.
std::string choice(const std::vector<uint64_t>& zero, const std::vector<uint64_t>& one) {
  RendezvousFixture rendezvous(table_with_servers(1, 2));
  const auto text = [](const Result<std::optional<uint64_t>>& step) {
    if (!step) return step.error().message;
    return *step ? std::to_string(**step) : std::string("none");
  };
  std::string other;
  const auto client = rendezvous.join({"ps", 1});
  std::thread second([&] { other = text(common_checkpoint(*client, {1, 2}, one, soon())); });
  const auto first = rendezvous.join({"ps", 0});
  const std::string own = text(common_checkpoint(*first, {0, 2}, zero, soon()));
  second.join();
  CHECK(own == other);
  return own;
}

TEST_CASE("servers choose the newest step of which all have a file") {
  CHECK(choice({}, {}) == "none");
  CHECK(choice({9, 6, 3}, {6, 3}) == "6");
  CHECK(choice({3}, {6}).starts_with("the parameter servers have checkpoints, but of no common"));
}

TEST_CASE("a server that does not start in time is noticed") {
  RendezvousFixture rendezvous(table_with_servers(1, 2));
  const auto client = rendezvous.join({"ps", 0});
  const auto step = common_checkpoint(*client, {0, 2}, {}, Clock::now() + milliseconds(50));
  REQUIRE_FALSE(step);
  CHECK(step.error().code == Errc::timeout);
}

}  // namespace
}  // namespace dt
