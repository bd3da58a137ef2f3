#include "launcher/config/sync_settings.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/option_value.h"
#include "launcher/config/sync/git_source.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// Returns the option that asks for a tree; none: the job has none.
Result<std::optional<OptionValue>> asking_option(const OptionSources& sources) {
  for (const OptionSource& source : sources) {
    auto flag = find_in(source, "sync");
    auto other = find_in(source, "sync-from");
    if (!other) other = find_in(source, "sync-to");
    if (!flag) {
      if (other) return other;
      continue;
    }
    const bool wanted = TRY(flag->flag());
    if (wanted) return flag;
    if (other) {
      return other->refuse(
          format("{} is false, so that no files are copied; leave one of them out", flag->origin));
    }
    return std::optional<OptionValue>();
  }
  return std::optional<OptionValue>();
}

/// Fails for an option of the command line that has no effect without a tree. In a file, it is a
/// setting for jobs that have one.
Result<> check_unused(const OptionSources& sources) {
  for (const std::string_view name :
       {"sync-into", "sync-local-copy", "sync-strict", "sync-max", "sync-exclude", "sync-include",
        "sync-user", "sync-token-env", "sync-token-file", "fetch", "fetch-to"}) {
    const auto given = find_option(sources, name);
    if (given && given->origin.starts_with('-'))
      return given->refuse("without --sync, no files are copied; give both, or neither");
  }
  return {};
}

/// Reads a folder, or a URL with its REF.
Result<> read_from(const OptionValue& given, SyncOptions& sync) {
  std::string text = TRY(given.text("a folder, or the URL of a git repository"));
  const size_t scheme_end = text.find("://");
  if (is_git_url(text)) {
    sync.repository = TRY(parse_git_source(text));
  } else if (scheme_end != std::string::npos) {
    // The rest may have a password.
    return given.refuse(
        format("git repositories have no URL that begins with \"{}\"; give one of "
               "https, ssh or file, or a folder",
               printable(text.substr(0, scheme_end + 3))));
  } else {
    sync.from = std::move(text);
  }
  return {};
}

/// Fails for an option of the command line about a server that the job does not use.
Result<> check_unused_token(const OptionSources& sources, const SyncOptions& sync) {
  for (const std::string_view name : {"sync-user", "sync-token-env", "sync-token-file"}) {
    const auto given = find_option(sources, name);
    if (!given || !given->origin.starts_with('-')) continue;
    return given->refuse(sync.repository
                             ? "only servers by https ask for a user and a token; ssh has keys "
                               "of its own, and a file none"
                             : "it is for the server of a git repository; name one by --sync-from "
                               "URL");
  }
  return {};
}

/// Fails where a worker would get the token, which --sync-token-env keeps from them.
Result<> check_forwarded(const OptionValue& given, const RunConfig& config) {
  const std::string& name = given.value();
  for (const EnvironmentSetting& setting : config.environment) {
    if (setting.name == name)
      return given.refuse(
          format("{} gives {} to the workers, which must not have the token; leave "
                 "it out there, or take another variable for the token",
                 setting.origin, name));
  }
  for (const Role& role : config.roles) {
    if (role.environment.contains(name))
      return given.refuse(
          format("the role {} has a variable of this name; take another one for "
                 "the token",
                 role.name));
  }
  return {};
}

bool is_variable_name(std::string_view name) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view digits = "0123456789";
  const size_t end = name.find_first_not_of(letters);
  return end != 0 && !name.empty() && std::ranges::all_of(name, [&](char each) {
           return letters.find(each) != letters.npos || digits.find(each) != digits.npos;
         });
}

/// Reads the user and the token for the server of --sync-from.
Result<> read_token(const OptionSources& sources, RunConfig& config, SyncOptions& sync) {
  const auto server =
      sync.repository ? git_server_of(sync.repository->url) : std::optional<GitServer>();
  if (!server || !server->scheme.starts_with("http")) return check_unused_token(sources, sync);
  if (const auto given = find_option(sources, "sync-user"))
    sync.token.user = TRY(given->text("the name of a user"));
  const auto variable = find_option(sources, "sync-token-env");
  const auto file = find_option(sources, "sync-token-file");
  if (variable && file)
    return variable->refuse(format("{} is given, too; leave one of them out", file->origin));
  if (file) sync.token.file = TRY(file->text("a file"));
  if (!variable) return {};
  if (!is_variable_name(variable->value())) {
    // The user may have written the token itself.
    return variable->refuse("it needs the name of a variable, not a value: letters, digits and _");
  }
  sync.token.variable = variable->value();
  TRY(check_forwarded(*variable, config));
  config.environment_excluded.push_back(sync.token.variable);
  return {};
}

/// Returns an absolute path, or one below the home without its "~/".
Result<std::string> read_target(const OptionValue& given) {
  const std::string text = TRY(given.text("an absolute path, or one below the home"));
  std::string_view rest = text;
  if (rest == "~" || rest.starts_with("~/")) {
    rest.remove_prefix(1);
  } else if (rest.starts_with('~')) {
    return given.refuse(
        format("the home of another user has no copies; give an absolute path, not \"{}\"",
               printable(text)));
  }
  std::vector<std::string> parts;
  for (const std::string_view part : split(rest, '/')) {
    if (part == "..") {
      return given.refuse(
          format("a path with \"..\" can leave its folder: \"{}\"", printable(text)));
    }
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  if (parts.empty()) {
    return given.refuse(
        format("\"{}\" is a folder of all jobs; give one of its own for the copy, such as {}job",
               printable(text), text.starts_with('/') ? "/srv/" : "~/"));
  }
  return (text.starts_with('/') ? "/" : "") + join(parts, "/");
}

Result<uint64_t> read_max(const OptionValue& given) {
  const auto bytes = parse_size(given.value());
  if (!bytes || *bytes == 0) return given.expected("a size from 1, such as 500M or 4G");
  return *bytes;
}

/// Returns the patterns without a / at their end, by which people mean a folder.
Result<std::vector<std::string>> read_patterns(const OptionValue& given) {
  std::vector<std::string> patterns;
  for (std::string pattern : *given.values) {
    while (pattern.size() > 1 && pattern.ends_with('/'))
      pattern.pop_back();
    if (pattern.empty() || pattern.find('\0') != std::string::npos)
      return given.refuse(format("expected a pattern, got \"{}\"", printable(pattern)));
    if (pattern.starts_with('/') || pattern.starts_with("./") || pattern.starts_with("../")) {
      return given.refuse(
          format("a pattern is compared with paths below the tree, which begin "
                 "with a name, as in 'data/*'; \"{}\" fits none",
                 printable(pattern)));
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

Result<> read_flags_of_sync(const OptionSources& sources, SyncOptions& sync) {
  struct Flag {
    std::string_view name;
    bool SyncOptions::*member;
  };
  for (const Flag& flag :
       {Flag{"sync-into", &SyncOptions::into}, Flag{"sync-local-copy", &SyncOptions::local_copy},
        Flag{"sync-strict", &SyncOptions::strict}}) {
    const auto given = find_option(sources, flag.name);
    if (given) sync.*flag.member = TRY(given->flag());
  }
  if (!sync.into || sync.target) return {};
  return find_option(sources, "sync-into")
      ->refuse("a new copy has no other files; give --sync-to TARGET, too");
}

Result<> read_values(const OptionSources& sources, SyncOptions& sync) {
  if (const auto given = find_option(sources, "sync-from")) TRY(read_from(*given, sync));
  if (const auto given = find_option(sources, "sync-to")) sync.target = TRY(read_target(*given));
  if (const auto given = find_option(sources, "sync-max")) sync.bytes_max = TRY(read_max(*given));
  if (const auto given = find_option(sources, "sync-exclude"))
    sync.excluded = TRY(read_patterns(*given));
  if (const auto given = find_option(sources, "sync-include"))
    sync.included = TRY(read_patterns(*given));
  return {};
}

/// Reads --fetch and --fetch-to.
Result<> read_fetch(const OptionSources& sources, RunConfig& config) {
  const auto given = find_option(sources, "fetch");
  const auto to = find_option(sources, "fetch-to");
  if (!given) {
    if (!to || !to->origin.starts_with('-')) return {};
    return to->refuse("without --fetch PATTERN, no files come back");
  }
  FetchOptions fetch;
  fetch.patterns = TRY(read_patterns(*given));
  for (const std::string& pattern : fetch.patterns) {
    const auto parts = split(pattern, '/');
    if (std::ranges::find(parts, "..") == parts.end()) continue;
    return given->refuse(
        format("only files below the tree come back, not \"{}\"", printable(pattern)));
  }
  if (to) fetch.to = TRY(to->text("a folder"));
  if (!to && config.sync->repository) {
    return given->refuse(
        "the tree of a URL has no folder here to which they could return; add --fetch-to DIR");
  }
  config.fetch = std::move(fetch);
  return {};
}

}  // namespace

Result<> read_sync(const OptionSources& sources, RunConfig& config) {
  const auto asked = TRY(asking_option(sources));
  if (!asked) return check_unused(sources);
  if (config.external_cluster) {
    return asked->refuse(
        "with --cluster-spec or a TF_CONFIG, each host has a dtrain of its own, and this one "
        "reaches no other; leave it out, or start the job by -np and -H");
  }
  SyncOptions sync;
  TRY(read_values(sources, sync));
  TRY(read_flags_of_sync(sources, sync));
  TRY(read_token(sources, config, sync));
  config.sync = std::move(sync);
  return read_fetch(sources, config);
}

}  // namespace dt
