#include "launcher/config/jobs/job_file.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/config.h"
#include "launcher/config/files/toml_option.h"
#include "launcher/config/jobs/job_keys.h"
#include "launcher/config/jobs/job_mounts.h"
#include "launcher/config/jobs/job_resources.h"
#include "launcher/config/options.h"
#include "launcher/config/role.h"
#include "launcher/config/sync/git_source.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

namespace dt {
namespace {

using Kind = TomlValue::Kind;

/// The keys of a job file that are no options of `dtrain run`.
constexpr std::array job_keys = {"schema",  "name",  "command", "env",    "pass-env",
                                 "outputs", "roles", "code",    "mounts", "use"};
constexpr std::array role_keys = {"replicas", "command",   "env",   "hosts", "restart",
                                  "ranked",   "resources", "ports", "image", "use"};

/// A key of the table [code], and the option that it stands for.
struct CodeKey {
  std::string_view key;
  std::string_view option;
};
constexpr std::array code_keys = {
    CodeKey{"path", "sync-from"},           CodeKey{"repo", "sync-from"},
    CodeKey{"target", "sync-to"},           CodeKey{"user", "sync-user"},
    CodeKey{"token-env", "sync-token-env"}, CodeKey{"token-file", "sync-token-file"},
    CodeKey{"exclude", "sync-exclude"},     CodeKey{"include", "sync-include"}};

/// Returns the name of the file without its folder and its last extension.
std::string name_of_file(std::string_view path) {
  path.remove_prefix(std::min(path.rfind('/') + 1, path.size()));
  const std::string_view stem = path.substr(0, path.rfind('.'));
  return is_job_name(stem) ? std::string(stem) : "job";
}

/// Returns a value of a piece, whose paths begin at the folder of its own file.
std::string at_its_file(const std::string& path, std::string_view option, std::string value) {
  OptionSource alone = {.values = {{std::string(option), {std::move(value)}}}, .origins = {}};
  start_paths_at(path.substr(0, path.rfind('/') + 1), alone);
  return alone.values.begin()->second.front();
}

class JobReader {
 public:
  JobReader(const TomlDocument& document, std::string_view path)
      : document_(document), path_(path), folder_(path.substr(0, path.rfind('/') + 1)) {
    job_.options.values["name"] = {name_of_file(path)};
  }

  Result<JobFile> read();

 private:
  Result<> read_key(const TomlEntry& entry, const std::string& name);
  Result<> read_schema(const TomlEntry& entry);
  Result<> read_option(const TomlEntry& entry, const std::string& name);
  Result<> read_role(const TomlEntry& entry);
  Result<> read_code(const TomlEntry& entry);
  Result<> read_code_key(const TomlEntry& entry, const CodeKey& key);
  Result<std::string> text_of(const TomlEntry& entry) const;
  Result<std::vector<std::string>> words_of(const TomlEntry& entry) const;
  Result<std::vector<std::string>> texts_of(const TomlEntry& entry) const;
  Result<std::vector<std::string>> settings_of(const TomlEntry& entry) const;
  Result<const std::vector<TomlEntry>*> table_of(const TomlEntry& entry) const;
  tl::unexpected<Error> unknown(const TomlEntry& entry, std::span<const char* const> known,
                                std::string_view where) const;
  void add(const TomlEntry& entry, std::string_view option, std::string value);

  const TomlDocument& document_;
  std::string path_;
  std::string folder_;         ///< of the file; empty: the current one
  bool has_code_ = false;      ///< there is a table [code]
  bool code_is_here_ = false;  ///< it has no repo
  JobFile job_ = {};
};

/// Adds a value to an option, whose place is that of its first value.
void JobReader::add(const TomlEntry& entry, std::string_view option, std::string value) {
  if (entry.source > 0) value = at_its_file(document_.path_of(entry), option, std::move(value));
  add_job_value(document_, entry, {option, std::move(value)}, job_.options);
}

tl::unexpected<Error> JobReader::unknown(const TomlEntry& entry, std::span<const char* const> known,
                                         std::string_view where) const {
  return refuse_unknown_key(document_, entry, known, where);
}

Result<std::string> JobReader::text_of(const TomlEntry& entry) const {
  if (entry.value.kind == Kind::text && !entry.value.text.empty()) return entry.value.text;
  return document_.refuse(
      entry, format("{}: expected a string, got {}", entry.key,
                    entry.value.kind == Kind::text ? "an empty one" : entry.value.kind_name()));
}

Result<std::vector<std::string>> JobReader::texts_of(const TomlEntry& entry) const {
  auto texts = toml_values(entry.value, OptionKind::list);
  if (texts && !texts->empty()) return *std::move(texts);
  return document_.refuse(entry,
                          format("{}: expected a string or an array of strings, got {}", entry.key,
                                 texts ? "an empty one" : entry.value.kind_name()));
}

/// Returns the words of a command: a list as it is, a text for a shell.
Result<std::vector<std::string>> JobReader::words_of(const TomlEntry& entry) const {
  std::vector<std::string> words = TRY(texts_of(entry));
  if (words.front().empty()) return document_.refuse(entry, "command: expected a program first");
  if (entry.value.kind == Kind::array) return words;
  return std::vector<std::string>{"sh", "-c", words.front()};
}

Result<const std::vector<TomlEntry>*> JobReader::table_of(const TomlEntry& entry) const {
  if (entry.value.is_table()) return &entry.value.entries;
  return document_.refuse(entry, format("{0}: expected a table, such as [{0}], got {1}", entry.key,
                                        entry.value.kind_name()));
}

/// Returns the variables of a table as "NAME=VALUE".
Result<std::vector<std::string>> JobReader::settings_of(const TomlEntry& entry) const {
  std::vector<std::string> settings;
  const std::vector<TomlEntry>* variables = TRY(table_of(entry));
  for (const TomlEntry& variable : *variables) {
    const TomlValue& value = variable.value;
    if (variable.key.empty() || variable.key.find('=') != std::string::npos) {
      return document_.refuse(
          variable, format("expected the name of a variable, got \"{}\"", printable(variable.key)));
    }
    if (value.kind != Kind::text && value.kind != Kind::integer) {
      return document_.refuse(variable, format("{}: expected a string for the variable, got {}",
                                               printable(variable.key), value.kind_name()));
    }
    settings.push_back(format("{}={}", variable.key,
                              value.kind == Kind::text ? value.text : format("{}", value.integer)));
  }
  return settings;
}

Result<> JobReader::read_schema(const TomlEntry& entry) {
  if (entry.value.kind == Kind::integer && entry.value.integer == 1) return {};
  return document_.refuse(entry, "schema: this dtrain reads job files of schema = 1 only");
}

Result<> JobReader::read_option(const TomlEntry& entry, const std::string& name) {
  if (find_option(name) == nullptr) {
    std::vector<const char*> known(job_keys.begin(), job_keys.end());
    const std::vector<std::string> names(known.begin(), known.end());
    if (nearest(name, names)) return unknown(entry, known, "the job");
  }
  const Option* option = TRY(toml_option(document_, entry, name));
  if (name == "name") job_.options.values.erase(name);
  if (job_.options.values.contains(name))
    return document_.refuse(entry, format("\"{}\" is defined twice, with - and with _", name));
  return add_toml_option(document_, entry, *option, job_.options);
}

Result<> JobReader::read_role(const TomlEntry& entry) {
  const std::string& role = entry.key;
  TRY(check_role_name(role, document_.place(entry)));
  const std::vector<TomlEntry>* keys = TRY(table_of(entry));
  std::optional<int64_t> replicas;
  std::string hosts;
  for (const TomlEntry& key : *keys) {
    const std::string name = spelled_key(key.key);
    if (name == "replicas") {
      if (key.value.kind != Kind::integer || key.value.integer < 1) {
        return document_.refuse(
            key, format("replicas: expected a whole number from 1, got {}",
                        key.value.kind == Kind::integer ? format("{}", key.value.integer)
                                                        : key.value.kind_name()));
      }
      replicas = key.value.integer;
    } else if (name == "hosts") {
      const std::vector<std::string> all = TRY(texts_of(key));
      hosts = "@" + join(all, ",");
    } else if (name == "command") {
      std::vector<std::string> words = TRY(words_of(key));
      std::ranges::transform(words, words.begin(), shell_quote);
      add(key, "role-command", format("{}={}", role, join(words, " ")));
    } else if (name == "env") {
      const std::vector<std::string> settings = TRY(settings_of(key));
      for (const std::string& setting : settings)
        add(key, "role-env", format("{}={}", role, setting));
    } else if (name == "restart") {
      const std::string rule = TRY(text_of(key));
      if (rule != "no") add(key, "restart-role", format("{}={}", role, rule));
    } else if (name == "resources") {
      TRY(read_role_resources(document_, role, key, job_.options));
    } else if (name == "image") {
      const std::string image = TRY(text_of(key));
      add(key, "role-image", format("{}={}", role, image));
    } else if (name == "ports") {
      TRY(read_role_ports(document_, role, key, job_.options));
    } else if (name == "ranked") {
      if (key.value.kind != Kind::flag)
        return document_.refuse(key, "ranked: expected true or false");
      if (key.value.flag) add(key, "role-ranked", role);
      if (!key.value.flag && is_ranked(role))
        return document_.refuse(key, format("ranked: the role {} always has ranks", role));
    } else {
      return unknown(key, role_keys, format("[roles.{}]", role));
    }
  }
  if (!replicas)
    return document_.refuse(entry, format("[roles.{0}] has no replicas; add: replicas = 1", role));
  add(entry, "role", format("{}={}{}", role, *replicas, hosts));
  return {};
}

Result<> JobReader::read_code_key(const TomlEntry& entry, const CodeKey& key) {
  if (key.key == "exclude" || key.key == "include") {
    const std::vector<std::string> patterns = TRY(texts_of(entry));
    for (const std::string& pattern : patterns)
      add(entry, key.option, pattern);
    return {};
  }
  const std::string value = TRY(text_of(entry));
  if (key.key == "repo" && !is_git_url(value)) {
    return document_.refuse(entry,
                            "repo: expected the URL of a git repository; a folder here is "
                            "a path");
  }
  if (key.key == "path" && is_git_url(value))
    return document_.refuse(entry, "path: expected a folder here; a URL is a repo");
  add(entry, key.option, value);
  return {};
}

Result<> JobReader::read_code(const TomlEntry& entry) {
  const std::vector<TomlEntry>* keys = TRY(table_of(entry));
  const TomlEntry* ref = nullptr;
  const TomlEntry* source = nullptr;
  for (const TomlEntry& key : *keys) {
    const std::string name = spelled_key(key.key);
    if (name == "ref") {
      ref = &key;
      continue;
    }
    const auto known = std::ranges::find(code_keys, name, &CodeKey::key);
    if (known == code_keys.end()) {
      std::vector<const char*> names = {"ref"};
      std::ranges::transform(code_keys, std::back_inserter(names),
                             [](const CodeKey& one) { return one.key.data(); });
      return unknown(key, names, "[code]");
    }
    if (name == "path" || name == "repo") {
      if (source != nullptr)
        return document_.refuse(key, "[code] has a path and a repo; leave one of them out");
      source = &key;
    }
    TRY(read_code_key(key, *known));
  }
  has_code_ = true;
  code_is_here_ = source == nullptr || spelled_key(source->key) == "path";
  if (source == nullptr) {
    if (ref != nullptr) return document_.refuse(*ref, "ref: needs a repo, whose commit it names");
    add(entry, "sync-from", ".");
    return {};
  }
  if (ref == nullptr) return {};
  if (spelled_key(source->key) != "repo")
    return document_.refuse(*ref, "ref: needs a repo, whose commit it names");
  const std::string commit = TRY(text_of(*ref));
  job_.options.values["sync-from"].back() += "@" + commit;
  return {};
}

Result<> JobReader::read_key(const TomlEntry& entry, const std::string& name) {
  if (name == "schema") return read_schema(entry);
  if (name == "command") {
    job_.command = TRY(words_of(entry));
    return {};
  }
  if (name == "roles") {
    const std::vector<TomlEntry>* roles = TRY(table_of(entry));
    for (const TomlEntry& role : *roles)
      TRY(read_role(role));
    return {};
  }
  if (name == "code") return read_code(entry);
  if (name == "mounts") {
    JobMounts read = TRY(read_job_mounts(document_, entry));
    for (std::string& mount : read.mounts)
      add(entry, "mount", std::move(mount));
    for (std::string& command : read.commands)
      add(entry, "mount-command", std::move(command));
    return {};
  }
  if (name == "env" && entry.value.is_table()) {
    std::vector<std::string> settings = TRY(settings_of(entry));
    for (std::string& setting : settings)
      add(entry, "env", std::move(setting));
    return {};
  }
  if (name == "pass-env" || name == "outputs") {
    std::vector<std::string> texts = TRY(texts_of(entry));
    for (std::string& text : texts) {
      if (name == "pass-env" && text.find('=') != std::string::npos)
        return document_.refuse(entry, "pass-env: names variables; values are those of env");
      add(entry, name == "outputs" ? "fetch" : "env", std::move(text));
    }
    return {};
  }
  return read_option(entry, name);
}

Result<JobFile> JobReader::read() {
  bool has_schema = false;
  for (const TomlEntry& entry : document_.entries()) {
    const std::string name = spelled_key(entry.key);
    has_schema = has_schema || name == "schema";
    TRY(read_key(entry, name));
  }
  if (!has_schema) {
    return fail(Errc::input,
                format("{}: is no job file, which has a line: schema = 1", printable(path_)));
  }
  auto& values = job_.options.values;
  const bool has_repository = has_code_ && !code_is_here_;
  if (has_repository && values.contains("fetch") && !values.contains("fetch-to"))
    values["fetch-to"] = {"."};
  start_paths_at(folder_, job_.options);
  if (code_is_here_) job_.code_folder = job_.options.values["sync-from"].back();
  return std::move(job_);
}

}  // namespace

void start_paths_at(const std::string& folder, OptionSource& options) {
  const bool has_code = options.values.contains("sync-from") || options.values.contains("sync");
  const auto move = [&folder](std::string& path) {
    if (!path.starts_with('/')) path.insert(0, folder);
  };
  for (auto& [name, values] : options.values) {
    const Option* const option = find_option(name);
    const bool is_path = option->placeholder == "FILE" || option->placeholder == "DIR";
    for (std::string& value : values) {
      // With code, chdir begins at the copy.
      if (name == "chdir" ? !has_code : name == "sync-from" ? !is_git_url(value) : is_path) {
        move(value);
      } else if (value.starts_with('@') && option->placeholder.find("HOSTS") != std::string::npos) {
        value = format("@{}{}", value.substr(1).starts_with('/') ? "" : folder, value.substr(1));
      }
    }
  }
}

Result<PiecesText> no_pieces() {
  return fail(Errc::input, "there is no file of pieces here");
}

Result<JobFile> read_job_file(std::string_view text, std::string_view path,
                              const PiecesReader& read_pieces) {
  TomlDocument document = TRY(TomlDocument::parse(text, path));
  TRY(use_pieces(document, read_pieces));
  return JobReader(document, path).read();
}

}  // namespace dt
