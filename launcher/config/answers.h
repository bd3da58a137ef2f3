#pragma once

#include "base/result.h"
#include "launcher/config/config.h"

#include <string>
#include <vector>

namespace dt {

/// Options of horovodrun that decide nothing here (launcher/config/horovod_options.h): the answer
/// of one that is refused is the error, and a slip in one that agrees is told.
Result<> answer_options(const OptionSources& by_precedence);

/// What those that tune Horovod's library set for the workers. Two that say different things of one
/// variable are an error.
Result<std::vector<EnvironmentSetting>> exported_settings(const OptionSources& by_precedence);

}  // namespace dt
