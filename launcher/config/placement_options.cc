#include "launcher/config/placement_options.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/option_value.h"

#include <string_view>
#include <vector>

namespace dt {
namespace {

BindTo bind_to_named(std::string_view word) {
  return word == "core"   ? BindTo::core
         : word == "numa" ? BindTo::numa
         : word == "auto" ? BindTo::automatic
                          : BindTo::none;
}

/// Reads mpirun's "ppr:N:node".
Result<int> per_host_of(const OptionValue& given) {
  const std::vector<std::string_view> parts = split(given.value(), ':');
  const auto count =
      parts.size() == 3 && parts[2] == "node" ? parse_integer(parts[1]) : std::nullopt;
  if (!count || *count < 1 || *count > slots_max)
    return given.expected(format("ppr:N:node with N of 1..{}", slots_max));
  return static_cast<int>(*count);
}

/// Reads --map-by or --rank-by into `order`.
Result<> read_order(const OptionSources& sources, std::string_view name,
                    std::optional<MapBy>& order, PlacementOptions& placement) {
  const auto given = find_option(sources, name);
  if (!given) return {};
  if (name == "map-by" && given->value().starts_with("ppr:")) {
    placement.per_host = TRY(per_host_of(*given));
    return {};
  }
  const std::string choice = TRY(given->choice());
  order = choice == "node" ? MapBy::node : MapBy::slot;
  return {};
}

Result<> read_bind_to(const OptionSources& sources, BindTo& bind_to) {
  const auto given = find_option(sources, "bind-to");
  if (!given) return {};
  const auto choice = given->choice();
  if (!choice && given->value() == "socket") {
    return fail(Errc::input, choice.error().message + "; a socket is mostly one node: write numa");
  }
  if (!choice) return tl::unexpected(choice.error());
  bind_to = bind_to_named(*choice);
  return {};
}

/// Reads torchrun's --numa-binding.
Result<> read_numa_binding(const OptionSources& sources, BindTo& bind_to) {
  const auto given = find_option(sources, "numa-binding");
  if (!given) return {};
  struct Answer {
    std::string_view mode;
    std::string_view text;
  };
  constexpr Answer answers[] = {
      {"socket", "a socket is mostly one NUMA node; write: --numa-binding node"},
      {"exclusive",
       "dtrain gives each process cores of its own by --role-cpus worker=N; write that, or "
       "--bind-to core for one core each"},
      {"core-complex",
       "dtrain does not see which cores share a cache; write: --numa-binding node, or "
       "--role-cpus worker=N for N cores each"}};
  for (const auto& [mode, text] : answers) {
    if (given->value() == mode) return given->refuse(format("{}: {}", mode, text));
  }
  TRY(given->choice());
  if (const auto other = find_option(sources, "bind-to"))
    return given->refuse(format("conflicts with {}; give one of them", other->origin));
  bind_to = BindTo::near_gpu;
  return {};
}

}  // namespace

Result<> read_placement(const OptionSources& sources, PlacementOptions& placement) {
  TRY(read_order(sources, "map-by", placement.map_by, placement));
  // --map-by node spreads the processes, so it spreads neighbours in rank too, unless --rank-by
  // is given.
  placement.rank_by = placement.map_by;
  TRY(read_order(sources, "rank-by", placement.rank_by, placement));
  if (const auto given = find_option(sources, "ppn")) {
    const int64_t count = TRY(given->integer(1, slots_max));
    placement.per_host = static_cast<int>(count);
  }
  TRY(read_bind_to(sources, placement.bind_to));
  TRY(read_numa_binding(sources, placement.bind_to));
  if (const auto given = find_option(sources, "gpu-bind")) {
    const std::string choice = TRY(given->choice());
    placement.gpu_bind = choice == "rank" ? GpuBind::rank : GpuBind::none;
  }
  if (const auto given = find_option(sources, "gpu-share"))
    placement.gpu_share = TRY(given->flag());
  if (const auto given = find_option(sources, "report-bindings"))
    placement.report_bindings = TRY(given->flag());
  return {};
}

}  // namespace dt
