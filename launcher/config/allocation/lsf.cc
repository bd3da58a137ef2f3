#include "launcher/config/allocation/lsf.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/allocation/allocated_hosts.h"
#include "launcher/config/allocation/allocation_variable.h"
#include "launcher/config/allocation/slot_lines.h"
#include "launcher/config/hosts/host_entry.h"
#include "launcher/config/hosts/source_location.h"

#include <utility>

namespace dt {
namespace {

/// Reads LSB_MCPU_HOSTS: pairs of a host and its slots.
Result<std::vector<Host>> read_pairs(const AllocationVariable& variable) {
  const std::vector<std::string_view> words = split_words(variable.value);
  if (words.empty() || words.size() % 2 != 0)
    return variable.refuse("expected pairs of a host and its slots, such as a 4 b 2");
  const std::string source = variable.text();
  const SourceLocation place(source, variable.value);
  AllocatedHosts hosts;
  for (size_t i = 0; i < words.size(); i += 2) {
    const int slots = TRY(parse_slots(words[i + 1], "slots", words[i], place));
    const Result<> added = hosts.add({.name = std::string(words[i]), .slots = slots}, "");
    if (!added) return variable.refuse(added.error().message);
  }
  return std::move(hosts).finish();
}

/// Reads LSB_HOSTS: a name for each slot.
Result<std::vector<Host>> read_names(const AllocationVariable& variable) {
  AllocatedHosts hosts;
  for (const std::string_view word : split_words(variable.value)) {
    if (const Result<> counted = hosts.count(word); !counted)
      return variable.refuse(counted.error().message);
  }
  if (hosts.empty()) return variable.refuse("names no host");
  return std::move(hosts).finish();
}

Result<std::vector<Host>> read_hosts_of_job(const AllocationInput& input) {
  if (const auto file = find_variable(input.environment, "LSB_DJOB_HOSTFILE")) {
    const std::string text = TRY(file->read_file(input.read_text));
    return parse_slot_lines(text, file->text());
  }
  if (const auto pairs = find_variable(input.environment, "LSB_MCPU_HOSTS"))
    return read_pairs(*pairs);
  if (const auto words = find_variable(input.environment, "LSB_HOSTS")) return read_names(*words);
  return fail(Errc::input,
              "this LSF job has none of LSB_DJOB_HOSTFILE, LSB_MCPU_HOSTS and LSB_HOSTS, which "
              "name its hosts");
}

}  // namespace

Result<Allocation> read_lsf(const AllocationInput& input) {
  const AllocationVariable id = TRY(need_variable(input.environment, "LSB_JOBID"));
  std::vector<Host> hosts = TRY(read_hosts_of_job(input));
  return Allocation{.name = "LSF job " + printable(id.value),
                    .list = {.hosts = std::move(hosts), .warnings = {}},
                    .program = "blaunch"};
}

}  // namespace dt
