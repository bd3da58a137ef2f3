#include "comm/training/strategy/strategy_options.h"

#include "base/format.h"
#include "base/text.h"
#include "rendezvous/cluster/tf_config.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

namespace dt {
namespace {

/// A text with its origin, for errors.
struct GivenText {
  std::string text;
  std::string_view origin;
};

std::optional<GivenText> find_given(const std::optional<std::string>& argument,
                                    std::string_view name, const Environment& environment,
                                    const char* variable) {
  if (argument) return GivenText{*argument, name};
  const auto found = environment.find(variable);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return GivenText{found->second, variable};
}

/// Returns the strategy of a job that names none.
Result<StrategyName> default_strategy(const Environment& environment, int workers) {
  const auto found = environment.find("TF_CONFIG");
  if (found != environment.end() && !found->second.empty()) {
    const TfConfig config = TRY(parse_tf_config(found->second));
    size_t training = 0;
    for (const auto& [role, tasks] : config.cluster.jobs) {
      if (role == "chief" || role == "master" || role == "worker") training += tasks.size();
    }
    if (training > 1) return StrategyName::multi_worker_mirrored;
  }
  return workers > 1 ? StrategyName::multi_worker_mirrored : StrategyName::mirrored;
}

/// Returns this process as the job, or TF_CONFIG, names it.
DeviceOwner owner_of(const Environment& environment) {
  DeviceOwner owner;
  const auto role = environment.find("DTRAIN_ROLE");
  const auto index = environment.find("DTRAIN_TASK_INDEX");
  if (role != environment.end() && index != environment.end()) {
    owner.job = role->second;
    owner.task = static_cast<int>(parse_integer(index->second).value_or(0));
    return owner;
  }
  const auto text = environment.find("TF_CONFIG");
  if (text == environment.end()) return owner;
  const auto config = parse_tf_config(text->second);
  if (config && config->task) owner = {config->task->role, config->task->index};
  return owner;
}

Result<bool> decide_flag(bool requested, const Environment& environment, const char* variable) {
  if (requested) return true;
  const auto given = find_given({}, {}, environment, variable);
  if (!given || given->text == "0") return false;
  if (given->text == "1") return true;
  return fail(Errc::input,
              format("{}: expected 0 or 1, got \"{}\"", variable, printable(given->text)));
}

/// Returns the request's number of bytes, else that of the variable; 0: none is given.
Result<size_t> decide_bytes(size_t requested, const Environment& environment,
                            const char* variable) {
  const auto given = find_given({}, {}, environment, variable);
  if (requested > 0 || !given) return requested;
  const auto bytes = parse_size(given->text);
  if (bytes && *bytes > 0) return static_cast<size_t>(*bytes);
  return fail(Errc::input,
              format("{}: expected a size from 1, got \"{}\"", variable, printable(given->text)));
}

/// Reads the limits of transfers and of memory, where the request has none.
Result<> decide_limits(const StrategyRequest& request, const Environment& environment,
                       StrategyOptions& options) {
  options.bytes_per_pack =
      TRY(decide_bytes(request.bytes_per_pack, environment, "DTRAIN_BYTES_PER_PACK"));
  options.device_memory =
      TRY(decide_bytes(request.device_memory, environment, "DTRAIN_DEVICE_MEMORY"));
  if (options.timeout_ms != 0) return {};
  const auto given = find_given({}, {}, environment, "DTRAIN_STRATEGY_TIMEOUT");
  if (!given) return {};
  const auto timeout = parse_duration(given->text);
  if (!timeout) return tl::unexpected(Error(timeout.error()).during(given->origin));
  const auto ms = std::chrono::ceil<milliseconds>(*timeout).count();
  options.timeout_ms = static_cast<int>(std::min<int64_t>(ms, std::numeric_limits<int>::max()));
  return {};
}

Result<ServerMode> decide_mode(const StrategyRequest& request, const Environment& environment) {
  if (!request.ps_mode && request.asynchronous) return ServerMode{ServerMode::Kind::async, 0};
  const auto given = find_given(request.ps_mode, "ps_mode", environment, "DTRAIN_PS_MODE");
  if (!given) return ServerMode();
  auto mode = parse_server_mode(given->text);
  if (!mode) return tl::unexpected(std::move(mode).error().during(given->origin));
  return mode;
}

}  // namespace

Result<StrategyOptions> decide_strategy(const StrategyRequest& request,
                                        const Environment& environment, int workers) {
  StrategyOptions options = {.timeout_ms = request.timeout_ms};
  if (request.timeout_ms < 0)
    return fail(Errc::input, "the timeout of a strategy must not be negative");
  if (const auto given = find_given(request.name, "strategy", environment, "DTRAIN_STRATEGY")) {
    auto name = parse_strategy_name(given->text);
    if (!name) return tl::unexpected(std::move(name).error().during(given->origin));
    options.name = *name;
  } else {
    options.name = TRY(default_strategy(environment, workers));
  }
  if (const auto given = find_given(request.devices, "devices", environment, "DTRAIN_DEVICES"))
    options.devices = given->text;
  if (const auto given = find_given(request.cross_device, "cross_device_op", environment,
                                    "DTRAIN_CROSS_DEVICE_OP")) {
    auto name = parse_cross_device_rules(given->text);
    if (!name) return tl::unexpected(std::move(name).error().during(given->origin));
    options.cross_device = *name;
  }
  if (const auto given =
          find_given(request.communication, "communication", environment, "DTRAIN_COMMUNICATION")) {
    auto communication = parse_communication(given->text);
    if (!communication)
      return tl::unexpected(std::move(communication).error().during(given->origin));
    options.communication = *communication;
  }
  options.mode = TRY(decide_mode(request, environment));
  options.self = owner_of(environment);
  options.soft_placement =
      TRY(decide_flag(request.soft_placement, environment, "DTRAIN_SOFT_PLACEMENT"));
  options.log_placement =
      TRY(decide_flag(request.log_placement, environment, "DTRAIN_LOG_PLACEMENT"));
  TRY(decide_limits(request, environment, options));
  return options;
}

}  // namespace dt
