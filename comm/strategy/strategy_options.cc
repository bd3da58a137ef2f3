#include "comm/strategy/strategy_options.h"

#include "base/format.h"
#include "rendezvous/cluster/tf_config.h"

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

}  // namespace

Result<StrategyOptions> decide_strategy(const StrategyRequest& request,
                                        const Environment& environment, int workers) {
  StrategyOptions options = {.bytes_per_pack = request.bytes_per_pack,
                             .timeout_ms = request.timeout_ms,
                             .asynchronous = request.asynchronous};
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
    auto name = parse_cross_device_name(given->text);
    if (!name) return tl::unexpected(std::move(name).error().during(given->origin));
    options.cross_device = *name;
  }
  return options;
}

}  // namespace dt
