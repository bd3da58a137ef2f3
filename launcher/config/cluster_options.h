#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/option_value.h"

#include <optional>
#include <string_view>
#include <vector>

namespace dt {

/// What says what to start: a cluster, or one of the options that count tasks (-np, --role, hosts).
/// The first source that has either decides; both, if they stand in one.
struct LayoutChoice {
  std::optional<OptionValue> cluster;  ///< --cluster-spec
  std::optional<OptionValue> counts;   ///< the first of the others
};
/// Neither, too, where --cluster-spec none comes first.
LayoutChoice find_layout(const OptionSources& by_precedence);
/// Whether this option of a later source does not count.
bool is_left_aside(const LayoutChoice& choice, std::string_view name);

/// Whether somebody else has laid out the job: config.given_cluster. --cluster-spec says so, or
/// TF_CONFIG of the environment where nothing else says what to start.
Result<> read_given_cluster(const OptionSources& by_precedence, const Environment& environment,
                            const TextReader& read_text, RunConfig& config);

}  // namespace dt
