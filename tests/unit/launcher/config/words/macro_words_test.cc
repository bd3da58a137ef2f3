#include "launcher/config/words/macro_words.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

TEST_CASE("macros count in no first word, and in none that is code") {
  using Words = std::vector<std::string>;
  struct Case {
    Words command;
    Words taking;
  };
  const Case cases[] = {
      {{"{role}", "{rank}", "--i={index}"}, {"{rank}", "--i={index}"}},
      {{"bash", "-c", "{host}", "sh", "{port}"}, {"-c", "sh", "{port}"}},
      {{"perl", "-e", "{rank}", "-e", "{index}"}, {"-e", "-e"}},
      {{"x", "a {rank}", "a\t{rank}", "{rank}\n", ""}, {""}},
      {{"x", "--c", "{rank}", "-cd", "{index}"}, {"--c", "{rank}", "-cd", "{index}"}},
      {{}, {}}};
  for (const Case& c : cases) {
    Words taking;
    for (size_t i = 0; i < c.command.size(); ++i) {
      if (takes_macros(c.command, i)) taking.push_back(c.command[i]);
    }
    CHECK(taking == c.taking);
  }
}

}  // namespace
}  // namespace dt
