#include "launcher/config/allocation/grid_engine.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/allocation/allocation_variable.h"
#include "launcher/config/allocation/slot_lines.h"
#include "launcher/config/hosts/host_entry.h"

#include <utility>

namespace dt {
namespace {

Result<> add_line(AllocatedHosts& hosts, const std::vector<std::string_view>& words,
                  const SourceLocation& line) {
  if (words.size() != 4) {
    return line.refuse(words[0], format("expected host, slots, queue and processors, got {} word{}",
                                        words.size(), words.size() == 1 ? "" : "s"));
  }
  const int slots = TRY(parse_slots(words[1], "slots", words[0], line));
  const Result<> added =
      hosts.add({.name = std::string(words[0]), .slots = slots}, std::string(words[2]));
  if (!added) return line.refuse(words[0], added.error().message);
  return {};
}

}  // namespace

Result<Allocation> read_grid_engine(const AllocationInput& input) {
  const AllocationVariable id = TRY(need_variable(input.environment, "JOB_ID"));
  const AllocationVariable file = TRY(need_variable(input.environment, "PE_HOSTFILE"));
  const std::string text = TRY(file.read_file(input.read_text));
  std::vector<Host> hosts = TRY(parse_host_lines(text, file.text(), add_line));
  return Allocation{.name = "Grid Engine job " + printable(id.value),
                    .list = {.hosts = std::move(hosts), .warnings = {}}};
}

}  // namespace dt
