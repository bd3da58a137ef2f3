#pragma once

#include "base/clock.h"
#include "base/environment.h"
#include "base/result.h"
#include "choices/cross_device_rules.h"
#include "choices/strategy_name.h"
#include "comm/include/dtrain/dtrain.h"
#include "gpu/devices/device_names.h"

#include <cstddef>
#include <optional>
#include <string>

namespace dt {

/// The wishes of the program; none: the environment decides.
struct StrategyRequest {
  std::optional<std::string> name = {};
  std::optional<std::string> devices = {};
  std::optional<std::string> cross_device = {};
  size_t bytes_per_pack = 0;
  int timeout_ms = 0;
  bool asynchronous = false;
  std::optional<std::string> ps_mode = {};
  std::optional<std::string> communication = {};
  bool soft_placement = false;
  bool log_placement = false;
  size_t device_memory = 0;
  /// The identity with which the strategy joins by itself; null: the environment has it.
  const dtrain_init_options* identity = nullptr;
};

/// A strategy, decided.
struct StrategyOptions {
  StrategyName name = StrategyName::mirrored;
  std::string devices = {};  ///< names; empty: all
  CrossDeviceRules cross_device = {{.name = {.kind = CrossDeviceName::Kind::all_reduce}}};
  size_t bytes_per_pack = 0;
  int timeout_ms = 0;  ///< 0: none
  ServerMode mode = {};
  Communication communication = Communication::automatic;
  DeviceOwner self = {};        ///< this process, as names of devices have it
  bool soft_placement = false;  ///< the CPU replaces devices that do not exist
  bool log_placement = false;
  size_t device_memory = 0;  ///< the most bytes on each device; 0: no limit
  bool operator==(const StrategyOptions&) const = default;
};

/// Decides by the request, then the variables of --strategy and its options, then TF_CONFIG and the
/// number of workers. Fails with Errc::input for a wrong value, and names its origin.
Result<StrategyOptions> decide_strategy(const StrategyRequest& request,
                                        const Environment& environment, int workers);

}  // namespace dt
