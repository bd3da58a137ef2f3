#include "launcher/config/success_options.h"

#include "launcher/config/option_value.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace dt {

Result<> read_success(const OptionSources& sources, SuccessOptions& success) {
  if (const auto given = find_option(sources, "clean")) {
    const std::string word = TRY(given->choice());
    success.clean = word == "all"    ? CleanUp::all
                    : word == "none" ? CleanUp::none
                                     : CleanUp::running;
  }
  constexpr std::string_view role_prefix = "role:";
  const auto given = find_option(sources, "success");
  if (!given) return {};
  if (given->value().starts_with(role_prefix)) {
    success.by = SuccessBy::role;
    success.role = given->value().substr(role_prefix.size());
    if (success.role.empty()) return given->expected("a role after role:");
    return {};
  }
  constexpr std::pair<std::string_view, SuccessBy> words[] = {
      {"auto", SuccessBy::automatic},    {"chief", SuccessBy::chief},
      {"worker-0", SuccessBy::worker_0}, {"all-workers", SuccessBy::all_workers},
      {"all", SuccessBy::all},           {"never", SuccessBy::never}};
  const auto* const found =
      std::ranges::find(words, given->value(), &std::pair<std::string_view, SuccessBy>::first);
  if (found == std::end(words))
    return given->expected("auto, chief, worker-0, all-workers, all, never or role:NAME");
  success.by = found->second;
  return {};
}

}  // namespace dt
