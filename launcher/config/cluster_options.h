#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/option_value.h"

#include <optional>
#include <string_view>
#include <vector>

namespace dt {

/// The option that decides which tasks start: a cluster, or one that counts tasks (-np, --role,
/// hosts). The first source that has either decides; both are set if that source has both.
struct LayoutChoice {
  std::optional<OptionValue> cluster;  ///< --cluster-spec
  std::optional<OptionValue> counts;   ///< the first of the others
};
/// Returns neither if the first of them is --cluster-spec none.
LayoutChoice find_layout(const OptionSources& by_precedence);
/// True when the choice overrides this option of a later source.
bool is_overridden(const LayoutChoice& choice, std::string_view name);

/// Reads the cluster that a scheduler or a person has laid out into config.external_cluster. It
/// comes from --cluster-spec, or from the variable TF_CONFIG if no option decides which tasks
/// start.
Result<> read_external_cluster(const OptionSources& by_precedence, const Environment& environment,
                               const TextReader& read_text, RunConfig& config);

}  // namespace dt
