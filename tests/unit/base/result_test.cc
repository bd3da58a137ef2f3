#include "base/result.h"

#include <doctest/doctest.h>

#include <cerrno>

namespace dt {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Errc::input, "odd");
  return number / 2;
}

Result<> check_even(int number) {
  TRY(half(number));
  return {};
}

Result<int> quarter(int number) {
  TRY(check_even(number));
  const int halved = TRY(half(number));
  return TRY(half(halved));
}

/// A value that can be moved only.
struct Ticket {
  int number = 0;
  explicit Ticket(int n) : number(n) {}
  Ticket(Ticket&&) = default;
};

Result<Ticket> passed_on(int number) {
  Ticket ticket = TRY(Result<Ticket>(Ticket(number)));
  return ticket;
}

TEST_CASE("TRY gives the value or returns the error from the enclosing function") {
  CHECK(quarter(8) == 2);
  for (const int number : {3, 6}) {
    CAPTURE(number);
    const Result<int> read = quarter(number);
    REQUIRE(!read);
    CHECK(read.error() == Error{Errc::input, "odd"});
  }
}

TEST_CASE("TRY moves values that cannot be copied") {
  const auto ticket = passed_on(5);
  REQUIRE(ticket);
  CHECK(ticket->number == 5);
}

TEST_CASE("during puts the activity before the message") {
  CHECK(Error{Errc::timeout, "no answer"}.during("asking node07") ==
        Error{Errc::timeout, "asking node07: no answer"});
}

TEST_CASE("fail_errno names the failed call and the reason") {
  errno = ENOENT;
  const Result<> now = fail_errno("cannot open 'x'");
  CHECK(now.error() == Error{Errc::os, "cannot open 'x': No such file or directory"});
  const Result<> given = fail_errno("bind", EADDRINUSE);
  CHECK(given.error() == Error{Errc::os, "bind: Address already in use"});
}

TEST_CASE("an error keeps the rank to blame") {
  const tl::unexpected<Error> failed = fail(Errc::timeout, "late", 3);
  CHECK(Error(failed.value()).during("wait") == Error{Errc::timeout, "wait: late", 3});
  CHECK(fail(Errc::timeout, "late").value().blamed_rank == -1);
}

}  // namespace
}  // namespace dt
