#include "cmd/kept_words.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

using Line = std::vector<std::string>;
using Action = KeptWords::Action;

TEST_CASE("words for a job that was started: an action, its options, and a job anywhere") {
  CHECK(read_kept_words(Line{"list", "--json"}).value() ==
        KeptWords{.action = Action::list, .json = true});
  CHECK(read_kept_words(Line{"status", "a-1", "--cluster-spec"}).value() ==
        KeptWords{.action = Action::status, .id = "a-1", .cluster_spec = true});
  CHECK(read_kept_words(Line{"status", "--tf-config"}).value() ==
        KeptWords{.action = Action::status, .tf_config = true});
  CHECK(read_kept_words(Line{"logs", "--tail=5", "a-1", "-f", "--rank", "3"}).value() ==
        KeptWords{.action = Action::logs, .id = "a-1", .follow = true, .rank = 3, .tail = 5});
  CHECK(read_kept_words(Line{"logs", "--role", "ps:1"}).value() ==
        KeptWords{.action = Action::logs, .task = TaskId{"ps", 1}});
  CHECK(read_kept_words(Line{"stop", "--grace", "2m"}).value() ==
        KeptWords{.action = Action::stop, .grace = seconds(120)});
  CHECK(read_kept_words(Line{"wait"}).value() == KeptWords{.action = Action::wait});
  CHECK(read_kept_words(Line{"rm", "a-1"}).value() == KeptWords{.action = Action::rm, .id = "a-1"});
  for (const Line& line : {Line{"list", "--help"}, Line{"logs", "a-1", "-h"}, Line{"rm", "--help"}})
    CHECK(read_kept_words(line).value().action == Action::help);
}

TEST_CASE("wrong words for a job that was started") {
  for (const Line& line :
       {Line{"list", "a-1"}, Line{"rm"}, Line{"stop", "a-1", "b-1"}, Line{"logs", "--rank", "-1"},
        Line{"logs", "--rank", "x"}, Line{"logs", "--role", "ps"}, Line{"logs", "--role", ":1"},
        Line{"logs", "--role", "ps:x"}, Line{"logs", "--tail", "1.5"},
        Line{"logs", "--rank", "1", "--role", "ps:0"}, Line{"stop", "--grace", "soon"},
        Line{"list", "--tail", "3"}, Line{"wait", "--json"}, Line{"status", "-np", "3"}})
    CHECK_MESSAGE(read_kept_words(line).error().code == Errc::input, line.back());
}

}  // namespace
}  // namespace dt
