#pragma once

#include "launcher/config/tables/option.h"

#include <array>

namespace dt {

/// The options of the folders that tasks find at other places. A dtrain.toml that was only found
/// may have none of them: a command is a program, and a mount may hide one.
namespace mount_table {
using enum OptionKind;
using enum OptionGroup;

inline constexpr std::array rows = {
    Option{
        "mount", "--mount", lines, "SOURCE:TARGET[:ro]", code,
        "Show the workers of each host its folder SOURCE at TARGET, also read-only. SOURCE is an "
        "absolute path, or nfs://server/export that the host has mounted. It is a mount in a "
        "namespace of the workers, which ends with them. TARGET must exist, unless dtrain runs "
        "as root. May be given again.",
        true, Effect::decides, "", true},
    Option{"mount-command", "--mount-command", lines, "TARGET=COMMAND", code,
           "Run this line of a shell once a host, to make the mount of TARGET, for example "
           "'/data=rclone mount s3:data {target} --read-only'. {target} is the folder where it "
           "mounts; SOURCE of --mount is only a name then. It gets SIGTERM at the end.",
           true, Effect::decides, "", true},
};
}  // namespace mount_table
inline constexpr const auto& mount_options = mount_table::rows;

}  // namespace dt
