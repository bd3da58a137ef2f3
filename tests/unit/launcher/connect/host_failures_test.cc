#include "launcher/connect/host_failures.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

std::string joined(const std::vector<HostFailure>& failures) {
  return joined_failures(failures);
}

TEST_CASE("an error that hosts share, apart from their names, is there once") {
  CHECK(joined({}).empty());
  CHECK(joined({{"a", "cannot look up 'a': why"}}) == "a: cannot look up 'a': why");
  CHECK(joined({{"a", "no file x"}, {"b", "no answer"}, {"c", "no file x"}}) ==
        "a, c: no file x\nb: no answer");
  CHECK(joined({{"a", "cannot look up 'a': why"}, {"b", "cannot look up 'b': why"}}) ==
        "a, b: cannot look up HOST: why");
  CHECK(joined({{"10.0.0.1", "cannot connect to 10.0.0.1:22"},
                {"10.0.0.2", "cannot connect to 10.0.0.2:22"}}) ==
        "10.0.0.1, 10.0.0.2: cannot connect to HOST:22");
  CHECK(joined({{"n", "n1 said no"}, {"m", "n1 said no"}}) == "n, m: n1 said no");
}

TEST_CASE("a command of ssh becomes a loop over the hosts") {
  CHECK(joined({{"a", "login refused; try: ssh-copy-id me@a"},
                {"b", "login refused; try: ssh-copy-id me@b"}}) ==
        "a, b: login refused; try: for HOST in a b; do ssh-copy-id me@$HOST; done");
  CHECK(joined({{"a", "no key; try: ssh-keygen -t x, then ssh-copy-id a"},
                {"b", "no key; try: ssh-keygen -t x, then ssh-copy-id b"}}) ==
        "a, b: no key; try: ssh-keygen -t x, then for HOST in a b; do ssh-copy-id $HOST; done");
}

TEST_CASE("hosts with different first lines share the lines behind them") {
  const auto unknown = [](const std::string& host, const std::string& key) {
    return HostFailure{host, "its key " + key + " is not known\n  then accept it: ssh " + host +
                                 " true\n  or: ssh -o X " + host + " true"};
  };
  CHECK(joined({unknown("a", "K1")}) ==
        "a: its key K1 is not known\n  then accept it: ssh a true\n  or: ssh -o X a true");
  CHECK(joined({unknown("a", "K1"), {"c", "refused"}, unknown("b", "K2")}) ==
        "a: its key K1 is not known\n"
        "b: its key K2 is not known\n"
        "  then accept it: for HOST in a b; do ssh $HOST true; done\n"
        "  or: for HOST in a b; do ssh -o X $HOST true; done\n"
        "c: refused");
}

}  // namespace
}  // namespace dt
