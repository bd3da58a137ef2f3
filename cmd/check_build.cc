#include "cmd/check_build.h"

#include "base/format.h"
#include "base/version.h"

#include <string_view>

namespace dt {
namespace {

struct Ability {
  std::string_view name;
  bool there = false;
};

constexpr Ability controllers[] = {
    {"MPI", false}, {"TCP (dtrain's own rendezvous, in place of Gloo)", true}, {"SSH", false}};
constexpr Ability operations[] = {
    {"NCCL", false}, {"MPI", false}, {"Shared memory and TCP (libdtrain, in place of Gloo)", true}};

template <size_t count>
std::string section(std::string_view title, const Ability (&abilities)[count]) {
  std::string text = format("\n{}:\n", title);
  for (const Ability& ability : abilities)
    text += format("    [{}] {}\n", ability.there ? 'X' : ' ', ability.name);
  return text;
}

}  // namespace

std::string check_build_text() {
  return format("dtrain {}:\n", build_version) + section("Available Controllers", controllers) +
         section("Available Tensor Operations", operations);
}

}  // namespace dt
