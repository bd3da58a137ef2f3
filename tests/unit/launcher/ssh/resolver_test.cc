#include "launcher/ssh/resolver.h"

#include "base/format.h"
#include "base/io/network.h"
#include "tests/unit/run_until.h"

#include <doctest/doctest.h>

#include <optional>

namespace dt {
namespace {

using Addresses = std::vector<Address>;
using Answer = Result<Addresses>;

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::unique_ptr<Resolver> resolver = Resolver::create(*loop).value();

  Answer look_up(const std::string& name, Resolver::Family family = Resolver::Family::any,
                 Duration patience = seconds(30)) const {
    std::optional<Answer> answer;
    resolver->look_up(
        {.name = name, .port = 22, .family = family, .deadline = Clock::now() + patience},
        [&](Answer result) {
          REQUIRE(!answer);
          answer = std::move(result);
        });
    REQUIRE(!answer);  // not within the call
    run_until(*loop, [&] { return answer.has_value(); });
    return *answer;
  }
};

TEST_CASE("numeric addresses are answered as they are, of either family") {
  const Fixture fixture;
  CHECK(fixture.look_up("127.0.0.1").value() == Addresses{{"127.0.0.1", 22}});
  CHECK(fixture.look_up("::1").value() == Addresses{{"::1", 22}});
  CHECK(fixture.look_up("0:0::1").value() == Addresses{{"::1", 22}});
  // A numeric address needs no time, so it succeeds after the deadline.
  CHECK(fixture.look_up("127.0.0.1", Resolver::Family::any, seconds(0)).has_value());
}

TEST_CASE("a name of the hosts file is found, in the requested family") {
  const Fixture fixture;
  CHECK(fixture.look_up("localhost", Resolver::Family::v4).value() == Addresses{{"127.0.0.1", 22}});
}

TEST_CASE("an unknown name is in the error") {
  const Fixture fixture;
  // Longer than any name in the DNS: the resolver queries no server.
  const std::string name(300, 'a');
  const Answer answer = fixture.look_up(name);
  CHECK(answer.error().code == Errc::not_found);
  CHECK(answer.error().message.starts_with("cannot look up 'aaaa"));
}

TEST_CASE("look_up_all: each name has its answer, in the order of the names") {
  const auto answers = look_up_all({"::1", std::string(300, 'a'), "localhost"}, seconds(30));
  REQUIRE(answers);
  REQUIRE(answers->size() == 3);
  CHECK((*answers)[0].value() == Addresses{{"::1", 0}});
  CHECK((*answers)[1].error().code == Errc::not_found);
  CHECK(is_loopback((*answers)[2].value().front().ip));
  CHECK(look_up_all({}, seconds(30))->empty());
}

TEST_CASE("more look-ups than threads are all answered") {
  const Fixture fixture;
  size_t answers = 0;
  constexpr size_t count = 3 * Resolver::threads_max;
  for (size_t i = 0; i < count; ++i) {
    fixture.resolver->look_up(
        {.name = "localhost", .port = 1, .deadline = Clock::now() + seconds(30)},
        [&](const Answer& answer) { answers += answer ? 1 : 0; });
  }
  run_until(*fixture.loop, [&] { return answers == count; });
}

TEST_CASE("an answer may ask the next question") {
  const Fixture fixture;
  int answers = 0;
  std::function<void(Answer)> again = [&](const Answer&) {
    if (++answers < 5)
      fixture.resolver->look_up(
          {.name = "localhost", .port = 1, .deadline = Clock::now() + seconds(30)}, again);
  };
  again(Answer());
  run_until(*fixture.loop, [&] { return answers == 5; });
}

TEST_CASE("look-ups that time out are answered once, and their threads do no harm later") {
  Fixture fixture;
  int timeouts = 0;
  int others = 0;
  for (int i = 0; i < 20; ++i) {
    fixture.resolver->look_up(
        {.name = "localhost", .port = 1, .deadline = Clock::now()}, [&](const Answer& answer) {
          const bool timeout = !answer && answer.error().code == Errc::timeout;
          ++(timeout ? timeouts : others);
        });
  }
  run_until(*fixture.loop, [&] { return timeouts + others == 20; });
  CHECK(fixture.look_up("localhost", Resolver::Family::v4).has_value());
  CHECK(timeouts + others == 20);
  // Abandoned during the look-ups: the threads end later.
  for (int i = 0; i < 20; ++i) {
    fixture.resolver->look_up(
        {.name = "localhost", .port = 1, .deadline = Clock::now() + seconds(9)},
        [](const Answer&) { REQUIRE(false); });
  }
  fixture.resolver.reset();
}

}  // namespace
}  // namespace dt
