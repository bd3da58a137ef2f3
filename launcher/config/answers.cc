#include "launcher/config/answers.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/given.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace dt {
namespace {

/// Nobody reads the value, but a slip in it should not wait for the version that does.
Result<> check_value(const Option& option, const Given& given) {
  switch (option.kind) {
    case OptionKind::integer:
      TRY(given.integer(0, std::numeric_limits<int32_t>::max()));
      return {};
    case OptionKind::number:
      TRY(given.number());
      return {};
    default:
      TRY(given.text(option.placeholder));
      return {};
  }
}

Result<bool> asked_for(const Option& option, const Given& given) {
  if (option.kind == OptionKind::flag) return given.flag();
  TRY(check_value(option, given));
  return true;
}

}  // namespace

Result<std::vector<std::string>> answer_options(const std::vector<OptionSource>& by_precedence) {
  std::vector<std::pair<std::string_view, std::vector<std::string>>> origins_by_answer;
  for (const Option& option : horovod_options) {
    const auto given = find_given(by_precedence, option.name);
    if (!given || !TRY(asked_for(option, *given)) || option.effect == Effect::agrees) continue;
    if (option.effect == Effect::refuses) return given->refuse(option.answer);
    auto group = std::ranges::find(origins_by_answer, option.answer,
                                   [](const auto& pair) { return pair.first; });
    if (group == origins_by_answer.end()) {
      group = origins_by_answer.insert(group, {option.answer, {}});
    }
    group->second.push_back(given->origin);
  }
  std::vector<std::string> warnings;
  for (const auto& [answer, origins] : origins_by_answer)
    warnings.push_back(format("{}: {}", join(origins, ", "), answer));
  return warnings;
}

}  // namespace dt
