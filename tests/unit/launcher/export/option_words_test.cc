#include "launcher/export/option_words.h"

#include "launcher/config/options.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Words = std::vector<std::string>;

Words words_of(const char* name, const Words& values) {
  return option_words(*find_option(name), values);
}

TEST_CASE("an option becomes the words by which run takes it") {
  CHECK(words_of("np", {"4"}) == Words{"-np", "4"});
  CHECK(words_of("env", {"A=1", "B= x"}) == Words{"-x", "A=1", "-x", "B= x"});
  CHECK(words_of("timeout", {"1h", "2h"}) == Words{"--timeout", "2h"});
  CHECK(words_of("no-tag", {"true"}) == Words{"--no-tag"});
  CHECK(words_of("no-tag", {"no"}) == Words{"--no-tag=false"});
  CHECK(words_of("setup", {"a b", "-c"}) == Words{"--setup", "a b", "--setup=-c"});
  CHECK(words_of("name", {""}) == Words{"--name="});
  CHECK(words_of("blacklist-cooldown-range", {"1", "2"}) ==
        Words{"--blacklist-cooldown-range", "1", "2"});
}

TEST_CASE("a flag that is off has its own spelling where there is one") {
  CHECK(words_of("autotune", {"false"}) == Words{"--no-autotune"});
  CHECK(words_of("autotune", {"true"}) == Words{"--autotune"});
}

}  // namespace
}  // namespace dt
