#include "launcher/config/allocation/grid_engine.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/allocation/allocated_hosts.h"
#include "launcher/config/allocation/allocation_variable.h"
#include "launcher/config/hosts/host_entry.h"
#include "launcher/config/hosts/source_location.h"

#include <utility>

namespace dt {
namespace {

Result<std::vector<Host>> parse_lines(std::string_view text, const AllocationVariable& file) {
  const std::string source = file.text();
  AllocatedHosts hosts;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    const SourceLocation place(source, line, ++number);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::vector<std::string_view> words = split_words(line);
    if (words.empty()) continue;
    if (words.size() != 4) {
      return place.refuse(words[0], format("expected host, slots, queue and processors, got {} "
                                           "word{}",
                                           words.size(), words.size() == 1 ? "" : "s"));
    }
    const int slots = TRY(parse_slots(words[1], "slots", words[0], place));
    const Result<> added =
        hosts.add({.name = std::string(words[0]), .slots = slots}, std::string(words[2]));
    if (!added) return place.refuse(words[0], added.error().message);
  }
  if (hosts.empty()) return file.refuse("names no host");
  return std::move(hosts).finish();
}

}  // namespace

Result<Allocation> read_grid_engine(const AllocationInput& input) {
  const AllocationVariable id = TRY(need_variable(input.environment, "JOB_ID"));
  const AllocationVariable file = TRY(need_variable(input.environment, "PE_HOSTFILE"));
  const std::string text = TRY(file.read_file(input.read_text));
  std::vector<Host> hosts = TRY(parse_lines(text, file));
  return Allocation{.name = "Grid Engine job " + printable(id.value),
                    .list = {.hosts = std::move(hosts), .warnings = {}}};
}

}  // namespace dt
