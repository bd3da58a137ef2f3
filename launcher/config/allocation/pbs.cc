#include "launcher/config/allocation/pbs.h"

#include "base/text.h"
#include "launcher/config/allocation/allocation_variable.h"
#include "launcher/config/allocation/slot_lines.h"

#include <algorithm>
#include <utility>

namespace dt {

Result<Allocation> read_pbs(const AllocationInput& input) {
  const AllocationVariable id = TRY(need_variable(input.environment, "PBS_JOBID"));
  const AllocationVariable file = TRY(need_variable(input.environment, "PBS_NODEFILE"));
  const std::string text = TRY(file.read_file(input.read_text));
  std::vector<Host> hosts = TRY(parse_slot_lines(text, file.text()));
  const bool line_a_host =
      std::ranges::all_of(hosts, [](const Host& host) { return host.slots == 1; });
  if (const auto per_host = find_variable(input.environment, "PBS_PPN"); per_host && line_a_host) {
    const int slots = TRY(per_host->number(1, slots_max));
    for (Host& host : hosts)
      host.slots = slots;
  }
  return Allocation{.name = "PBS job " + printable(id.value),
                    .list = {.hosts = std::move(hosts), .warnings = {}}};
}

}  // namespace dt
