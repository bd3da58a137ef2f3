#include "launcher/config/jobs/job_keys.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dt {

std::string spelled_key(std::string_view key) {
  std::string name(key);
  std::ranges::replace(name, '_', '-');
  return name;
}

tl::unexpected<Error> refuse_unknown_key(const TomlDocument& document, const TomlEntry& entry,
                                         std::span<const char* const> known,
                                         std::string_view where) {
  const std::vector<std::string> names(known.begin(), known.end());
  const auto guess = nearest(spelled_key(entry.key), names);
  return document.refuse(entry, format("unknown key \"{}\" in {}; {}", printable(entry.key), where,
                                       guess ? format("did you mean {}?", *guess)
                                             : format("its keys are {}", join(names, ", "))));
}

void add_job_value(const TomlDocument& document, const TomlEntry& entry, JobValue added,
                   OptionSource& options) {
  options.values[std::string(added.option)].push_back(std::move(added.value));
  options.origins.emplace(added.option, format("{}: {}", document.place(entry), entry.key));
}

}  // namespace dt
