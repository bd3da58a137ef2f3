#pragma once

#include "launcher/config/files/config_show.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The part of an option in the text for another launcher.
enum class ExportPart : uint8_t {
  written,  ///< the text has it, or has it as far as it can: then the exporter reports the rest
  moot,     ///< it is about hosts, connections or output, which that launcher has in its own way
  left_out  ///< the user wants it, and the text lacks it
};

/// Returns the part of an option of `dtrain run` in a file for docker compose.
ExportPart part_in_compose(std::string_view option);
/// Returns its part in a batch script for Slurm, which runs dtrain.
ExportPart part_in_slurm(std::string_view option);

/// Returns "the options max-restarts, timeout", of those that the text lacks; empty: none.
std::string options_left_out(const std::vector<DecidedOption>& options,
                             const std::function<ExportPart(std::string_view option)>& part);

}  // namespace dt
