#include "launcher/export/kubernetes/literal_text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a dollar is doubled where Kubernetes would replace it or the byte behind it") {
  CHECK(literal_text("a $HOME ${X} $ $") == "a $HOME ${X} $ $");
  CHECK(literal_text("$(X)") == "$$(X)");
  CHECK(literal_text("$$(X)") == "$$$$(X)");
  CHECK(literal_text("$$") == "$$$");
  CHECK(literal_text("$$x") == "$$$x");
  CHECK(literal_text("$ä") == "$$ä");
  CHECK(literal_texts({"", "$(", "("}) == std::vector<std::string>{"", "$$(", "("});
}

}  // namespace
}  // namespace dt
