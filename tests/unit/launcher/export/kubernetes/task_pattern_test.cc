#include "launcher/export/kubernetes/task_pattern.h"

#include "base/format.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const std::vector<TaskNumber> index_and_rank = {{.variable = "I", .numbers = {0, 1, 2}},
                                                {.variable = "R", .numbers = {9, 10, 11}}};

TEST_CASE("texts that differ by the tasks' numbers become one text with their variables") {
  using Texts = std::vector<std::string_view>;
  struct Case {
    Texts texts;
    const char* pattern;
  };
  const Case cases[] = {{{"a", "a", "a"}, "a"},
                        {{"", "", ""}, ""},
                        {{"0", "1", "2"}, "$(I)"},
                        {{"9", "10", "11"}, "$(R)"},
                        {{"h-0:22", "h-1:22", "h-2:22"}, "h-$(I):22"},
                        {{"0/9", "1/10", "2/11"}, "$(I)/$(R)"},
                        {{"$(X) 0", "$(X) 1", "$(X) 2"}, "$$(X) $(I)"},
                        {{"$0", "$1", "$2"}, "$$$(I)"},
                        {{"a$$0", "a$$1", "a$$2"}, "a$$$$$(I)"},
                        {{"$(X)", "$(X)", "$(X)"}, "$$(X)"}};
  for (const Case& one : cases) {
    CAPTURE(one.pattern);
    CHECK(task_pattern(one.texts, index_and_rank) == std::string(one.pattern));
  }
}

TEST_CASE("texts that differ in another way have no common one") {
  CHECK(!task_pattern({"a", "b", "c"}, index_and_rank));
  CHECK(!task_pattern({"0", "2", "4"}, index_and_rank));
  CHECK(!task_pattern({"00", "01", "02"}, index_and_rank));
  CHECK(!task_pattern({"x0", "x1", "x"}, index_and_rank));
}

TEST_CASE("indices above 9 count as numbers, not as digits") {
  std::vector<std::string> texts;
  TaskNumber index = {.variable = "I", .numbers = {}};
  for (int task = 0; task < 120; ++task) {
    texts.push_back(format("w{}.1", task));
    index.numbers.push_back(task);
  }
  CHECK(task_pattern({texts.begin(), texts.end()}, {index}) == "w$(I).1");
}

}  // namespace
}  // namespace dt
