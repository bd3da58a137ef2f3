#include "comm/training/ps/state/variable.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("a variable that cannot be is refused by name") {
  struct Case {
    VariableSpec variable;
    const char* message;
  };
  const std::vector<Case> cases = {
      {{.name = ""}, "a variable has no name"},
      {{.name = std::string(251, 'a')}, "a variable's name has 251 bytes, more than 250"},
      {{.name = "w", .type = ElementType::int32},
       "variable w: its type must be float32 or float64"},
      {{.name = "w", .shape = {3, 0}}, "variable w: a dimension is 0"},
      {{.name = "w", .shape = std::vector<uint64_t>(17, 1)},
       "variable w: it has 17 dimensions, more than 16"},
      {{.name = "w", .shape = {uint64_t{1} << 63, 4}}, "variable w: it has too many elements"},
      {{.name = "w", .optimizer = {.learning_rate = -1}},
       "variable w: sgd: learning_rate must be a number from 0, not -1"},
  };
  for (const Case& which : cases) {
    const Result<> checked = check_ps_variable(which.variable);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message == which.message);
  }
}

TEST_CASE("a variable has rows of equal size; a single number is one row") {
  const VariableSpec matrix{.name = "m", .type = ElementType::float64, .shape = {4, 3, 2}};
  CHECK(check_ps_variable(matrix));
  CHECK(matrix.rows() == 4);
  CHECK(matrix.row_bytes() == 48);
  CHECK(matrix.bytes() == 192);
  CHECK(matrix.text() == "float64[4,3,2], sgd");
  const VariableSpec number{.name = "n"};
  CHECK(number.rows() == 1);
  CHECK(number.bytes() == 4);
  CHECK(number.text() == "float32[], sgd");
}

}  // namespace
}  // namespace dt
