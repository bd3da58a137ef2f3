#include "launcher/config/placement_options.h"

#include "launcher/config/hosts/hosts.h"
#include "launcher/config/option_value.h"

#include <string_view>

namespace dt {
namespace {

BindTo bind_to_named(std::string_view word) {
  return word == "core"   ? BindTo::core
         : word == "numa" ? BindTo::numa
         : word == "auto" ? BindTo::automatic
                          : BindTo::none;
}

}  // namespace

Result<> read_placement(const OptionSources& sources, PlacementOptions& placement) {
  struct Setting {
    std::string_view name;
    MapBy PlacementOptions::*member;
  };
  // --map-by node spreads the processes, so it spreads neighbours in rank too, unless --rank-by
  // is given.
  constexpr Setting settings[] = {{"map-by", &PlacementOptions::map_by},
                                  {"map-by", &PlacementOptions::rank_by},
                                  {"rank-by", &PlacementOptions::rank_by}};
  for (const Setting& setting : settings) {
    if (const auto given = find_option(sources, setting.name)) {
      const std::string choice = TRY(given->choice());
      placement.*setting.member = choice == "node" ? MapBy::node : MapBy::slot;
    }
  }
  if (const auto given = find_option(sources, "ppn")) {
    const int64_t count = TRY(given->integer(1, slots_max));
    placement.per_host = static_cast<int>(count);
  }
  if (const auto given = find_option(sources, "bind-to")) {
    const std::string choice = TRY(given->choice());
    placement.bind_to = bind_to_named(choice);
  }
  if (const auto given = find_option(sources, "gpu-bind")) {
    const std::string choice = TRY(given->choice());
    placement.gpu_bind = choice == "rank" ? GpuBind::rank : GpuBind::none;
  }
  if (const auto given = find_option(sources, "report-bindings"))
    placement.report_bindings = TRY(given->flag());
  return {};
}

}  // namespace dt
