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
  // Who spreads the processes wants neighbours in rank spread too, if he says nothing else.
  constexpr Setting settings[] = {{"map-by", &PlacementOptions::map_by},
                                  {"map-by", &PlacementOptions::rank_by},
                                  {"rank-by", &PlacementOptions::rank_by}};
  for (const Setting& setting : settings) {
    if (const auto given = find_option(sources, setting.name)) {
      placement.*setting.member = TRY(given->choice()) == "node" ? MapBy::node : MapBy::slot;
    }
  }
  if (const auto given = find_option(sources, "ppn"))
    placement.per_host = static_cast<int>(TRY(given->integer(1, slots_max)));
  if (const auto given = find_option(sources, "bind-to"))
    placement.bind_to = bind_to_named(TRY(given->choice()));
  if (const auto given = find_option(sources, "gpu-bind"))
    placement.gpu_bind = TRY(given->choice()) == "rank" ? GpuBind::rank : GpuBind::none;
  if (const auto given = find_option(sources, "report-bindings"))
    placement.report_bindings = TRY(given->flag());
  return {};
}

}  // namespace dt
