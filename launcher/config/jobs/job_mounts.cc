#include "launcher/config/jobs/job_mounts.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/files/toml_text.h"
#include "launcher/config/jobs/job_keys.h"
#include "launcher/config/mounts/mount.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dt {
namespace {

using Kind = TomlValue::Kind;

constexpr std::array mount_keys = {"source", "target", "read-only", "command"};

/// One table. The entries are those of its keys, for errors.
struct ReadMount {
  Mount mount = {};
  const TomlEntry* target = nullptr;
  const TomlEntry* command = nullptr;
};

Result<> read_key(const TomlDocument& document, const TomlEntry& key, ReadMount& read) {
  const std::string name = spelled_key(key.key);
  if (name == "read-only") {
    if (key.value.kind != Kind::flag)
      return document.refuse(key, format("{}: expected true or false", key.key));
    read.mount.read_only = key.value.flag;
    return {};
  }
  if (std::ranges::find(mount_keys, name) == mount_keys.end())
    return refuse_unknown_key(document, key, mount_keys, "[[mounts]]");
  if (key.value.kind != Kind::text || key.value.text.empty()) {
    return document.refuse(
        key, format("{}: expected a string, got {}", key.key,
                    key.value.kind == Kind::text ? "an empty one" : key.value.kind_name()));
  }
  if (name == "source") {
    read.mount.source = key.value.text;
  } else if (name == "target") {
    read.mount.target = key.value.text;
    read.target = &key;
  } else {
    read.mount.command = key.value.text;
    read.command = &key;
  }
  return {};
}

Result<ReadMount> read_table(const TomlDocument& document, const TomlEntry& entry,
                             const TomlValue& table) {
  ReadMount read;
  for (const TomlEntry& key : table.entries)
    TRY(read_key(document, key, read));
  // The table's own place is not known.
  const TomlEntry& place = table.entries.empty() ? entry : table.entries.front();
  if (read.mount.source.empty())
    return document.refuse(place, "a mount needs a source: a folder of the hosts, or nfs://…");
  if (read.target == nullptr)
    return document.refuse(place, "a mount needs a target: the folder where tasks find it");
  return read;
}

}  // namespace

Result<JobMounts> read_job_mounts(const TomlDocument& document, const TomlEntry& entry) {
  const bool is_list = entry.value.kind == Kind::tables || entry.value.kind == Kind::array;
  const bool is_right = is_list && std::ranges::all_of(entry.value.elements, &TomlValue::is_table);
  if (!is_right) {
    return document.refuse(entry, format("{}: expected tables [[mounts]], got {}", entry.key,
                                         is_list ? "other values" : entry.value.kind_name()));
  }
  JobMounts all;
  std::vector<Mount> known;
  for (const TomlValue& table : entry.value.elements) {
    const ReadMount read = TRY(read_table(document, entry, table));
    const std::string text = mount_text(read.mount);
    if (const auto added = add_mount(known, text); !added)
      return document.refuse(*read.target, added.error().message);
    if (known.back().source != read.mount.source)
      return document.refuse(*read.target, "a target has no \":/\" in it");
    all.mounts.push_back(text);
    if (read.command == nullptr) {
      if (const auto checked = check_mount_sources({known.back()}); !checked)
        return document.refuse(*read.target, checked.error().message);
      continue;
    }
    all.commands.push_back(format("{}={}", known.back().target, read.mount.command));
    if (const auto set = set_mount_command(known, all.commands.back()); !set)
      return document.refuse(*read.command, set.error().message);
  }
  return all;
}

std::string job_mounts_text(const OptionSource& options) {
  std::vector<Mount> mounts;
  const auto read = [&](const char* name, const auto& take) {
    const auto given = options.values.find(name);
    if (given == options.values.end()) return;
    // make_run_config has accepted them.
    for (const std::string& text : given->second)
      static_cast<void>(take(mounts, text));
  };
  read("mount", add_mount);
  read("mount-command", set_mount_command);
  std::string text;
  for (const Mount& mount : mounts) {
    text += format("\n[[mounts]]\nsource = {}\ntarget = {}\n", toml_string(mount.source),
                   toml_string(mount.target));
    if (mount.read_only) text += "read-only = true\n";
    if (!mount.command.empty()) text += format("command = {}\n", toml_string(mount.command));
  }
  return text;
}

}  // namespace dt
