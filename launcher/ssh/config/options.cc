#include "launcher/ssh/config/options.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "base/text.h"
#include "launcher/ssh/config/expand.h"
#include "launcher/ssh/config/keyword.h"
#include "launcher/ssh/config/pattern.h"

#include <algorithm>
#include <array>

namespace dt {
namespace {

constexpr std::array<std::string_view, 7> default_identities = {
    "~/.ssh/id_rsa",        "~/.ssh/id_ecdsa", "~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519",
    "~/.ssh/id_ed25519_sk", "~/.ssh/id_xmss",  "~/.ssh/id_dsa"};

/// Builds one SshSettings.
class SettingsBuilder {
 public:
  SettingsBuilder(SshOptions options, const SshRequest& request, const SshWorld& world,
                  SshResolved resolved)
      : options_(std::move(options)), request_(request), world_(world), resolved_(resolved) {}

  Result<SshSettings> build() {
    TRY(set_where());
    TRY(set_identities());
    TRY(set_agent());
    TRY(set_known_hosts());
    set_plain_values();
    set_proxy();
    list_special();
    return std::move(settings_);
  }

 private:
  const SshOption* find(std::string_view name) const {
    const auto found = options_.first.find(name);
    return found == options_.first.end() ? nullptr : &found->second;
  }
  bool is_on(std::string_view name) const {
    return equals_ignoring_case(options_.word(name), "yes") ||
           equals_ignoring_case(options_.word(name), "true");
  }
  void add_needs_ssh_g(std::string name, const std::string& place) {
    settings_.needs_ssh_g.push_back({std::move(name), place});
  }
  void add_needs_openssh(std::string_view name, const std::string& place) {
    settings_.needs_openssh.push_back({std::string(name), place});
  }

  /// Returns the text of an expansion. `ssh -G` resolves unknown tokens.
  Result<std::string> expanded(const SshExpansion& expansion, std::string_view name,
                               const std::string& place) {
    if (expansion.kind == SshExpansion::Kind::bad) {
      return fail(Errc::input, format("{}: {}: {}", place, name, expansion.text));
    }
    if (expansion.kind == SshExpansion::Kind::unknown_token) {
      add_needs_ssh_g(format("{} with {}", name, expansion.text), place);
    }
    return expansion.text;
  }
  Result<std::string> path_of(std::string_view name, const std::string& word,
                              const std::string& place) {
    return expanded(expand_ssh_path(word, tokens_, request_, world_), name, place);
  }

  Result<> set_host_name() {
    const SshOption* const given = find("hostname");
    std::string name = given != nullptr ? given->words.front() : request_.host;
    if (given != nullptr && resolved_ == SshResolved::no) {
      const SshTokens tokens = {{'h', request_.host}};
      name = TRY(expanded(expand_ssh_tokens(name, tokens, nullptr), "hostname", given->place));
    }
    settings_.host_name = dialed_name(name);
    return {};
  }

  void set_port() {
    const SshOption* const given = find("port");
    if (request_.port || given == nullptr) {
      settings_.port = request_.port.value_or(22);
    } else if (const auto number = parse_integer(given->words.front())) {
      settings_.port = static_cast<int>(*number);
    } else {
      add_needs_ssh_g(format("port {}", printable(given->words.front())), given->place);
    }
  }

  void set_user() {
    const SshOption* const given = find("user");
    settings_.user = given != nullptr ? given->words.front() : request_.local_user;
    if (request_.user) settings_.user = *request_.user;
    const bool tokens = settings_.user.find_first_of("%$") != std::string::npos;
    if (given != nullptr && !request_.user && tokens && resolved_ == SshResolved::no) {
      add_needs_ssh_g(format("user {}", printable(settings_.user)), given->place);
    }
  }

  Result<> set_where() {
    TRY(set_host_name());
    set_port();
    set_user();
    settings_.host_key_alias = lower_case(options_.word("hostkeyalias"));
    const std::string& alias = settings_.host_key_alias;
    // The tokens of ssh_config(5); host name, port and user must be resolved before.
    tokens_ = {{'d', request_.home},
               {'h', settings_.host_name},
               {'i', format("{}", request_.local_uid)},
               {'k', alias.empty() ? request_.host : alias},
               {'l', request_.local_host},
               {'L', request_.local_host.substr(0, request_.local_host.find('.'))},
               {'n', request_.host},
               {'p', format("{}", settings_.port)},
               {'r', settings_.user},
               {'u', request_.local_user}};
    return {};
  }

  /// Returns the values of identityfile as written, those of the command line first.
  std::vector<SshOption> given_identities() const {
    std::vector<SshOption> given;
    if (resolved_ == SshResolved::no) {
      for (const std::string& path : request_.identity_files)
        given.push_back({{path}, "ssh-identity-file"});
    }
    const auto found = options_.collected.find("identityfile");
    if (found != options_.collected.end()) {
      given.insert(given.end(), found->second.begin(), found->second.end());
    }
    return given;
  }

  Result<> set_identities() {
    std::vector<SshOption> identities = given_identities();
    settings_.identities_given = !identities.empty();
    if (identities.empty()) {
      for (const std::string_view path : default_identities)
        identities.push_back({{std::string(path)}, "the default"});
    } else if (resolved_ == SshResolved::yes && identities.size() >= 5) {
      // Without an identityfile, ssh -G prints its default list, of 5 to 7 files by its version.
      settings_.identities_given = !std::ranges::all_of(identities, [](const SshOption& identity) {
        return std::ranges::find(default_identities, identity.words.front()) !=
               default_identities.end();
      });
    }
    for (const SshOption& identity : identities) {
      if (equals_ignoring_case(identity.words.front(), "none")) continue;
      std::string path = TRY(path_of("identityfile", identity.words.front(), identity.place));
      settings_.identity_files.push_back(std::move(path));
    }
    const auto certificates = options_.collected.find("certificatefile");
    if (certificates == options_.collected.end()) return {};
    for (const SshOption& certificate : certificates->second) {
      std::string path =
          TRY(path_of("certificatefile", certificate.words.front(), certificate.place));
      settings_.certificate_files.push_back(std::move(path));
      add_needs_openssh("certificatefile", certificate.place);
    }
    return {};
  }

  Result<> set_agent() {
    const SshOption* const given = find("identityagent");
    if (given == nullptr) return {};
    std::string agent = given->words.front();
    if (resolved_ == SshResolved::no) agent = TRY(path_of("identityagent", agent, given->place));
    // The value may be a variable's name: $SSH_AGENT_2.
    if (agent.starts_with('$')) agent = world_.environment(agent.substr(1)).value_or("none");
    settings_.identity_agent = agent;
    return {};
  }

  Result<> set_known_hosts() {
    const SshOption* const user = find("userknownhostsfile");
    const SshOption mine = {{"~/.ssh/known_hosts", "~/.ssh/known_hosts2"}, "the default"};
    const SshOption& files = user != nullptr ? *user : mine;
    if (!equals_ignoring_case(files.words.front(), "none")) {
      for (std::string path : files.words) {
        const bool ready = resolved_ == SshResolved::yes && user != nullptr;
        if (!ready) path = TRY(path_of("userknownhostsfile", path, files.place));
        settings_.user_known_hosts_files.push_back(std::move(path));
      }
    }
    const SshOption* const global = find("globalknownhostsfile");
    if (global == nullptr) {
      settings_.global_known_hosts_files = {"/etc/ssh/ssh_known_hosts",
                                            "/etc/ssh/ssh_known_hosts2"};
    } else if (!equals_ignoring_case(global->words.front(), "none")) {
      settings_.global_known_hosts_files = global->words;
    }
    return {};
  }

  void set_plain_values() {
    settings_.identities_only = is_on("identitiesonly");
    settings_.hash_known_hosts = is_on("hashknownhosts");
    settings_.gssapi = is_on("gssapiauthentication");
    settings_.bind_address = options_.word("bindaddress");
    const std::string family = lower_case(options_.word("addressfamily"));
    if (family == "inet") settings_.address_family = AddressFamily::inet;
    if (family == "inet6") settings_.address_family = AddressFamily::inet6;
    const std::string checking = lower_case(options_.word("stricthostkeychecking"));
    if (checking == "accept-new") settings_.host_key_checking = HostKeyChecking::accept_new;
    if (checking == "no" || checking == "off" || checking == "false") {
      settings_.host_key_checking = HostKeyChecking::no;
    }
    const std::optional<int> seconds = ssh_time_seconds(options_.word("connecttimeout"));
    if (seconds.value_or(0) > 0) settings_.connect_timeout_s = seconds;
  }

  void set_proxy() {
    const std::string_view jump = options_.word("proxyjump");
    const std::string_view command = options_.word("proxycommand");
    if (!jump.empty()) {
      settings_.proxy_jump = jump;
      add_needs_openssh("proxyjump", find("proxyjump")->place);
    } else if (!command.empty() && !equals_ignoring_case(command, "none")) {
      settings_.proxy_command = command;
      add_needs_openssh("proxycommand", find("proxycommand")->place);
    }
  }

  void list_special() {
    for (const auto& [name, option] : options_.first) {
      const SshKeyword* const keyword = find_ssh_keyword(name);
      const bool harmless = keyword == nullptr || keyword->is_harmless(option.words);
      if (!harmless && keyword->use == SshUse::openssh) add_needs_openssh(name, option.place);
      if (!harmless && keyword->use == SshUse::ssh_g) add_needs_ssh_g(name, option.place);
    }
    // dtrain's own client binds to IP addresses, not to names.
    const SshOption* const from = find("bindaddress");
    if (from != nullptr && !Address::parse(host_port(settings_.bind_address, 1))) {
      add_needs_openssh("bindaddress by name", from->place);
    }
    // dtrain's own client logs in by keys only.
    const SshOption* const methods = find("preferredauthentications");
    if (methods != nullptr &&
        !std::ranges::count(split(methods->words.front(), ','), "publickey")) {
      add_needs_openssh("preferredauthentications", methods->place);
    }
    std::ranges::copy(options_.needs_ssh_g, std::back_inserter(settings_.needs_ssh_g));
    std::ranges::copy(options_.needs_openssh, std::back_inserter(settings_.needs_openssh));
    settings_.session_changes = options_.session;
  }

  const SshOptions options_;
  const SshRequest& request_;
  const SshWorld& world_;
  const SshResolved resolved_;
  SshTokens tokens_;
  SshSettings settings_;
};

}  // namespace

std::string_view SshOptions::word(std::string_view name) const {
  const auto found = first.find(name);
  return found == first.end() ? std::string_view() : std::string_view(found->second.words.front());
}

Result<SshSettings> make_ssh_settings(SshOptions options, const SshRequest& request,
                                      const SshWorld& world, SshResolved resolved) {
  return SettingsBuilder(std::move(options), request, world, resolved).build();
}

}  // namespace dt
