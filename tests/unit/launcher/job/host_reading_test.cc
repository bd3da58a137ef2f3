#include "launcher/job/host_reading.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("HostReading: good readings are taken once, failed ones are warnings, once a cause") {
  const auto loop = Loop::create().value();
  std::string logged;
  Log log(Log::Level::normal, [&logged](std::string_view line) { logged += line; });
  OnHostsRead answer;
  int reads = 0;
  HostReading reading(*loop, log, [&](OnHostsRead on_read) {
    ++reads;
    answer = std::move(on_read);
  });
  CHECK(reading.has_source());
  CHECK_FALSE(reading.is_done());
  reading.start();
  reading.start();  // one is under way
  CHECK(reads == 1);
  CHECK(reading.is_under_way());
  answer(std::vector<Host>{{.name = "a"}});
  CHECK(reading.is_done());
  CHECK(reading.take() == std::vector<Host>{{.name = "a"}});
  CHECK_FALSE(reading.take().has_value());
  const std::string warning = "dtrain: warning: no file; the hosts that were named before stay\n";
  for (int i = 0; i < 2; ++i) {
    reading.start();
    answer(fail(Errc::input, "no file"));
    CHECK_FALSE(reading.take().has_value());
    CHECK(logged == warning);
  }
  reading.start_after(seconds(60));
  CHECK(reads == 3);
  reading.start_after(Duration::zero());
  CHECK(reads == 4);
}

TEST_CASE("HostReading: a reading may end when its reader is gone") {
  const auto loop = Loop::create().value();
  Log log(Log::Level::quiet, [](std::string_view) {});
  OnHostsRead answer;
  {
    HostReading reading(*loop, log,
                        [&answer](OnHostsRead on_read) { answer = std::move(on_read); });
    reading.start();
  }
  answer(std::vector<Host>());
  HostReading none(*loop, log, {});
  none.start();
  CHECK_FALSE(none.has_source());
  CHECK_FALSE(none.is_under_way());
}

}  // namespace
}  // namespace dt
