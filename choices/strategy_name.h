#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

// How a program spreads its training over devices and processes. The launcher and libdtrain share
// these names.

/// The order is that of strategy_choices.
enum class StrategyName : uint8_t {
  mirrored,               ///< one process, a replica on each of its devices
  multi_worker_mirrored,  ///< the same in each of several processes
  central_storage,        ///< one process; its variables exist once
  parameter_server,       ///< variables live in the tasks of the role ps
  one_device,             ///< one process, one device
};

/// The names, as the placeholder of an option has them.
inline constexpr std::string_view strategy_choices =
    "mirrored|multi_worker_mirrored|central_storage|parameter_server|one_device";

std::string_view strategy_text(StrategyName name);
/// Fails with Errc::input for another word; the message lists the names.
Result<StrategyName> parse_strategy_name(std::string_view word);

/// True for a strategy of one process, which other workers would not join.
constexpr bool is_of_one_process(StrategyName name) {
  return name == StrategyName::mirrored || name == StrategyName::central_storage ||
         name == StrategyName::one_device;
}

/// When parameter servers apply what workers push.
struct ServerMode {
  /// The order is that of the names.
  enum class Kind : uint8_t {
    sync,     ///< in steps of `count` workers, the first that push; 0: of all
    async,    ///< at once
    bounded,  ///< at once; a worker waits while it is more than `count` pushes ahead
  };
  Kind kind = Kind::sync;
  int count = 0;
  bool local = false;  ///< of async: workers of a host reduce, and one of them pushes
  bool operator==(const ServerMode&) const = default;

  /// True when the training needs every worker.
  bool needs_all() const { return local || (kind == Kind::sync && count == 0); }
};

/// Reads sync, sync:N, async, local-async or bounded:N. Fails with Errc::input for another text.
Result<ServerMode> parse_server_mode(std::string_view text);
std::string server_mode_text(const ServerMode& mode);

/// How the replicas of one process reduce tensors.
struct CrossDeviceName {
  /// The order is that of the names.
  enum class Kind : uint8_t {
    reduction_to_one_device,
    hierarchical_copy_all_reduce,
    all_reduce,
    nccl_all_reduce,
  };
  Kind kind = Kind::reduction_to_one_device;
  int packs = 1;  ///< into so many parts tensors are packed; 0: no packing
  /// The name of the one device, or "cpu" for the host; empty: the first one.
  std::string device = {};
  bool operator==(const CrossDeviceName&) const = default;
};

/// The names, in the order of the kinds.
inline constexpr std::string_view cross_device_names[] = {
    "ReductionToOneDevice", "HierarchicalCopyAllReduce", "AllReduce", "NcclAllReduce"};

/// Reads one of cross_device_names. Behind a colon, the first may have its device,
/// "ReductionToOneDevice:cpu:1", and the others the number of packs, "AllReduce:4". Fails with
/// Errc::input for another text.
Result<CrossDeviceName> parse_cross_device_name(std::string_view text);

/// How the workers of multi_worker_mirrored reduce.
enum class Communication : uint8_t {
  automatic,  ///< libdtrain decides
  ring,       ///< libdtrain's engine, which needs no GPU
  nccl,       ///< NVIDIA's NCCL, between GPUs, for what it can run
};

/// The names, as the placeholder of an option has them.
inline constexpr std::string_view communication_choices = "auto|ring|nccl";

std::string_view communication_text(Communication communication);
/// Reads the name in any case, as TensorFlow's AUTO, RING and NCCL. Fails with Errc::input for
/// another word.
Result<Communication> parse_communication(std::string_view word);

}  // namespace dt
