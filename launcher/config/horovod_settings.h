#pragma once

#include "base/result.h"
#include "launcher/config/config.h"

#include <string>
#include <vector>

namespace dt {

/// Checks the options of other launchers that are accepted without an effect, or refused
/// (in launcher/config/tables/: horovod_options.h, other_launcher_options.h). Fails for an option
/// that dtrain refuses, and for one without an effect that is malformed or turned off.
Result<> check_answered_options(const OptionSources& by_precedence);

/// Reads --mca of Open MPI. Fails with dtrain's option for a parameter that chooses what dtrain
/// chooses, too. The others are only named in a warning: they tune the transports of MPI programs.
Result<> read_mca(const OptionSources& by_precedence, RunConfig& config);

/// Returns the variables for the workers by the options that tune Horovod's library. Fails when two
/// options set one variable to different values.
Result<std::vector<EnvironmentSetting>> horovod_settings(const OptionSources& by_precedence);

}  // namespace dt
