#include "launcher/sync/forked_service.h"

#include "base/bytes.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace dt {
namespace {

std::string read_some(const Fd& from) {
  std::array<char, 64> buffer = {};
  const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
  return {buffer.data(), static_cast<size_t>(n < 0 ? 0 : n)};
}

TEST_CASE("ForkedService serves over all of its descriptors, and ends with the object") {
  auto first = make_socketpair().value();
  auto second = make_socketpair().value();
  pid_t pid = 0;
  {
    std::vector<Fd> theirs;
    theirs.push_back(std::move(first.theirs));
    theirs.push_back(std::move(second.theirs));
    const auto service =
        ForkedService::start("dtrain-test", std::move(theirs), [](std::vector<Fd> its) {
          if (write_all(its[0].get(), as_bytes("one")) && write_all(its[1].get(), as_bytes("two")))
            ::pause();
        });
    REQUIRE(service);
    pid = service->pid();
    CHECK(read_some(first.ours) == "one");
    CHECK(read_some(second.ours) == "two");
    CHECK(getsid(pid) == pid);
  }
  CHECK(read_some(first.ours).empty());
  CHECK(::waitpid(pid, nullptr, 0) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("the end of a ForkedService's function ends its connections") {
  auto pair = make_socketpair().value();
  std::vector<Fd> theirs;
  theirs.push_back(std::move(pair.theirs));
  const auto service =
      ForkedService::start("dtrain-test", std::move(theirs), [](const std::vector<Fd>&) {});
  REQUIRE(service);
  CHECK(read_some(pair.ours).empty());
}

}  // namespace
}  // namespace dt
