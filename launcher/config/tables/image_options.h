#pragma once

#include "launcher/config/tables/option.h"

#include <array>

namespace dt {

/// The options of containers, which `dtrain export` writes. A job of dtrain runs without them.
namespace image_table {
using enum OptionKind;
using enum OptionGroup;

inline constexpr std::array rows = {
    Option{"image", "--image", text, "IMAGE", workers,
           "The container image of the processes, for dtrain export. Elsewhere it is an error "
           "without --no-image, since dtrain starts no containers.",
           true, Effect::decides, "", true},
    Option{"role-image", "--role-image", list, "NAME=IMAGE", workers,
           "The image of this role's tasks, instead of that of --image. May be given again.", true,
           Effect::decides, "", true},
    Option{"no-image", "--no-image", flag, "", workers,
           "Run the processes on the hosts, although a job file names images."},
};
}  // namespace image_table
inline constexpr const auto& image_options = image_table::rows;

}  // namespace dt
