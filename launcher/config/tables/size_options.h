#pragma once

#include "launcher/config/tables/option.h"

#include <array>

namespace dt {

/// The options of jobs whose number of ranks follows their hosts, which horovodrun has, too.
namespace size_table {
using enum OptionKind;
using enum OptionGroup;

inline constexpr std::array rows = {
    Option{"min-np", "--min-np --min-num-proc", integer, "N", hosts,
           "The fewest ranks that the job may have: after a failure it starts again with as many "
           "as the hosts that are there have slots. -np is then the number of slots that must be "
           "there before the first start. Without --min-np, that number is the fewest, else 1. "
           "Without --max-restarts, such a job starts again after each failure."},
    Option{"max-np", "--max-np --max-num-proc", integer, "N", hosts,
           "The most ranks that a job may have whose number of ranks follows its hosts. Without "
           "it, each slot gets one."},
    Option{"host-discovery-script", "--host-discovery-script", text, "FILE", hosts,
           "Run this program for the hosts, which it prints as a hostfile has them, or as "
           "\"host:N\". It runs before the first start, before each restart, and while the job "
           "waits for hosts.",
           true, Effect::decides, "", true},
    Option{"slots-per-host", "--slots-per-host", integer, "N", hosts,
           "The slots of the hosts that --host-discovery-script prints without slots. Without it, "
           "such a host offers its GPUs, else its CPUs."},
    Option{"elastic-timeout", "--elastic-timeout", duration, "TIME", hosts,
           "How long the job waits for the slots that it needs, before the first start and before "
           "each restart (default 600s). Only with --min-np, --max-np, --host-discovery-script or "
           "--nnodes MIN:MAX."},
    Option{"reset-limit", "--reset-limit", integer, "N", faults,
           "As --max-restarts N, which is given instead of it."},
    Option{"blacklist-cooldown-range", "--blacklist-cooldown-range", list, "MIN MAX", faults,
           "Use a host on which a process has failed only after a time that begins between 2 and "
           "3 times MIN seconds, doubles with each failure, and is at most MAX (3600). Without it, "
           "a failed process excludes no host. Only with an option by which the number of ranks "
           "follows the hosts."},
};
}  // namespace size_table
inline constexpr const auto& size_options = size_table::rows;

}  // namespace dt
