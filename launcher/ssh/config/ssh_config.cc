#include "launcher/ssh/config/ssh_config.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/config/config_line.h"
#include "launcher/ssh/config/expand.h"
#include "launcher/ssh/config/jump.h"
#include "launcher/ssh/config/keyword.h"
#include "launcher/ssh/config/options.h"
#include "launcher/ssh/config/pattern.h"

#include <algorithm>

namespace dt {
namespace {

constexpr int include_depth_max = 16;  // OpenSSH's own
constexpr size_t included_files_max = 4096;
constexpr size_t collected_max = 100;         // OpenSSH's own
constexpr size_t known_hosts_files_max = 32;  // OpenSSH's own

/// Whether the following lines apply to the requested host. `maybe`: below a Match, which only ssh
/// evaluates.
enum class Active : uint8_t { no, maybe, yes };

struct Source {
  std::string path;
  bool of_user = true;           ///< false: the system's, with another Include folder, and no ~
  Active ceiling = Active::yes;  ///< its lines are at most as active as the Include that named it
  int depth = 0;
};

/// Reads files line by line into SshOptions.
class ConfigReader {
 public:
  ConfigReader(const SshRequest& request, const SshWorld& world)
      : request_(request), world_(world) {}

  Result<SshOptions> read_all() {
    if (!request_.config_file) {
      TRY(read_standard({.path = request_.home + "/.ssh/config", .of_user = true}));
      TRY(read_standard({.path = "/etc/ssh/ssh_config", .of_user = false}));
    } else if (!equals_ignoring_case(*request_.config_file, "none")) {
      const Result<std::string> text = world_.read(*request_.config_file, false);
      if (!text) {
        return fail(Errc::input, format("cannot read the ssh configuration \"{}\": {}",
                                        printable(*request_.config_file), text.error().message));
      }
      TRY(read_text({.path = *request_.config_file}, *text));
    }
    return std::move(options_);
  }

 private:
  /// A line and its place.
  struct Line {
    const Source& source;
    SshConfigLine text;
    std::string place;
  };

  static tl::unexpected<Error> refuse(const Line& line, std::string_view why) {
    return fail(Errc::input, format("{}: {}", line.place, why));
  }

  /// Reads one of the two files that may be absent.
  Result<> read_standard(const Source& source) {
    const Result<std::string> text = world_.read(source.path, source.of_user);
    if (text) return read_text(source, *text);
    // OpenSSH skips a file that it cannot open, but refuses one that another user may write.
    if (text.error().code != Errc::refused) return {};
    return fail(Errc::input, format("{}: {}", printable(source.path), text.error().message));
  }

  Result<> read_text(const Source& source, std::string_view text) {
    const Active before = std::exchange(active_, source.ceiling);
    size_t number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      TRY(read_line(source, text.substr(0, end), ++number));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    active_ = before;
    return {};
  }

  Result<> read_line(const Source& source, std::string_view text, size_t number) {
    const auto place = [&] { return format("{}:{}", printable(source.path), number); };
    Result<std::optional<SshConfigLine>> line = parse_ssh_config_line(text);
    if (!line) return fail(Errc::input, format("{}: {}", place(), line.error().message));
    if (!*line) return {};
    return take_line({source, **std::move(line), place()});
  }

  Result<> take_line(const Line& line) {
    const SshKeyword* const keyword = find_ssh_keyword(line.text.keyword);
    if (keyword == nullptr) {
      take_unknown(line);
      return {};
    }
    const Result<> checked = check_ssh_value(*keyword, line.text.words, line.text.rest);
    if (!checked) return refuse(line, checked.error().message);
    switch (keyword->form) {
      case SshForm::host:
        return take_host(line);
      case SshForm::match:
        take_match(line);
        return {};
      case SshForm::include:
        return take_include(line);
      case SshForm::ignore_unknown:
        take_ignore_unknown(line);
        return {};
      default:
        return take_value(*keyword, line);
    }
  }

  void take_unknown(const Line& line) {
    if (matches_pattern_list(line.text.keyword, ignored_unknown_) == ListMatch::yes) return;
    options_.needs_ssh_g.push_back({printable(line.text.keyword), line.place});
  }

  void take_ignore_unknown(const Line& line) {
    if (active_ == Active::yes && ignored_unknown_.empty())
      ignored_unknown_ = line.text.words.front();
  }

  Result<> take_host(const Line& line) {
    active_ = Active::no;
    for (std::string_view pattern : line.text.words) {
      if (pattern.empty()) return refuse(line, "host: an empty word");
      const bool negated = pattern.starts_with('!');
      if (negated) pattern.remove_prefix(1);
      if (!matches_pattern(request_.host, pattern)) continue;
      active_ = negated ? Active::no : line.source.ceiling;
      if (negated) break;
    }
    return {};
  }

  void take_match(const Line& line) {
    if (line.source.ceiling == Active::no) {
      active_ = Active::no;
      return;
    }
    active_ = Active::maybe;
    options_.needs_ssh_g.push_back({"match", line.place});
  }

  Result<> take_include(const Line& line) {
    for (const std::string& word : line.text.words) {
      if (word.empty()) return refuse(line, "include: an empty word");
      if (word.starts_with('~') && !line.source.of_user) {
        return refuse(line,
                      format("include: \"{}\" has a ~ in a file of the system", printable(word)));
      }
      if (word.find_first_of("%$") != std::string::npos) {
        // Newer OpenSSH expands tokens and variables in Include; the version we follow does not.
        options_.needs_ssh_g.push_back({format("include {}", printable(word)), line.place});
      }
      TRY(include(word, line));
    }
    return {};
  }

  Result<> include(const std::string& word, const Line& line) {
    const bool of_user = line.source.of_user;
    std::string pattern = word;
    if (!word.starts_with('/') && !word.starts_with('~')) {
      pattern = (of_user ? request_.home + "/.ssh/" : "/etc/ssh/") + word;
    }
    const SshExpansion path = expand_tilde(pattern, request_, world_);
    if (path.kind != SshExpansion::Kind::done) return {};
    for (const std::string& file : world_.glob(path.text)) {
      if (line.source.depth == include_depth_max || ++included_files_ > included_files_max) {
        return refuse(line, "include: too many files include one another");
      }
      const Result<std::string> text = world_.read(file, true);
      if (!text) {
        return refuse(line, format("include {}: {}", printable(file), text.error().message));
      }
      TRY(read_text({file, of_user, active_, line.source.depth + 1}, *text));
    }
    return {};
  }

  Result<> take_value(const SshKeyword& keyword, const Line& line) {
    if (keyword.form == SshForm::agent) TRY(check_agent(line));
    if (keyword.use == SshUse::ignored) return {};
    if (keyword.use == SshUse::session) {
      if (active_ != Active::no) options_.session.emplace(keyword.name);
      return {};
    }
    if (active_ == Active::maybe && keyword.use == SshUse::openssh) {
      // The output of ssh -G does not always show whether the line counts, so assume that it does.
      options_.needs_openssh.push_back({std::string(keyword.name), line.place});
    }
    if (active_ != Active::yes) return {};
    SshOption option = {line.text.words, line.place, line.source.of_user};
    if (keyword.use == SshUse::collected) return collect(keyword, std::move(option), line);
    if (keyword.form == SshForm::command || keyword.form == SshForm::jumps) {
      return take_rest(keyword, std::move(option), line);
    }
    // The value is only a comment, and OpenSSH accepts any number of words here.
    if (option.words.empty()) return {};
    // A time of "none" sets nothing: a later value still counts.
    if (keyword.form == SshForm::time && option.words.front() == "none") return {};
    if (keyword.form == SshForm::files && option.words.size() > known_hosts_files_max) {
      return refuse(line, format("{}: more than {} files", keyword.name, known_hosts_files_max));
    }
    options_.first.try_emplace(std::string(keyword.name), std::move(option));
    return {};
  }

  Result<> check_agent(const Line& line) {
    // The variables must exist even when the line does not apply to the host. The tokens are
    // checked only when it does.
    std::string without_tokens = line.text.words.front();
    std::erase(without_tokens, '%');
    const SshExpansion expansion = expand_ssh_tokens(without_tokens, {}, &world_);
    if (expansion.kind == SshExpansion::Kind::done) return {};
    return refuse(line, "identityagent: " + expansion.text);
  }

  Result<> collect(const SshKeyword& keyword, SshOption option, const Line& line) {
    std::vector<SshOption>& all = options_.collected[std::string(keyword.name)];
    if (all.size() >= collected_max) {
      return refuse(line, format("{}: more than {} of them", keyword.name, collected_max));
    }
    const bool known = std::ranges::any_of(all, [&option](const SshOption& other) {
      return other.words.front() == option.words.front() && other.of_user == option.of_user;
    });
    if (!known) all.push_back(std::move(option));
    return {};
  }

  /// Stores ProxyCommand, ProxyJump or KnownHostsCommand: the line as written, including any part
  /// that looks like a comment. Only one of the first two can win.
  Result<> take_rest(const SshKeyword& keyword, SshOption option, const Line& line) {
    const bool proxy = keyword.name == "proxyjump" || keyword.name == "proxycommand";
    if (proxy && options_.first.contains("proxycommand")) return {};
    if (proxy && options_.first.contains("proxyjump")) {
      // After "ProxyJump none", only some versions of OpenSSH use a ProxyCommand.
      if (keyword.name == "proxycommand" && options_.word("proxyjump").empty()) {
        options_.needs_ssh_g.push_back({"proxycommand after \"proxyjump none\"", line.place});
      }
      return {};
    }
    const std::string& rest = line.text.rest;
    option.words = {rest.substr(std::min(rest.find_first_not_of(" \t\r\n="), rest.size()))};
    if (keyword.form == SshForm::jumps) {
      std::string jumps = TRY(parse_ssh_jumps(rest));
      option.words = {std::move(jumps)};
    }
    options_.first.try_emplace(std::string(keyword.name), std::move(option));
    return {};
  }

  const SshRequest& request_;
  const SshWorld& world_;
  SshOptions options_;
  std::string ignored_unknown_;
  Active active_ = Active::yes;
  size_t included_files_ = 0;
};

}  // namespace

Result<SshSettings> read_ssh_config(const SshRequest& request, const SshWorld& world) {
  SshOptions options = TRY(ConfigReader(request, world).read_all());
  return make_ssh_settings(std::move(options), request, world, SshResolved::no);
}

}  // namespace dt
