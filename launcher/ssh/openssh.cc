#include "launcher/ssh/openssh.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/config/pattern.h"
#include "launcher/ssh/login.h"

#include <algorithm>

namespace dt {

namespace {

/// As a person would type it.
std::string login_of(const SshRequest& request) {
  return request.user ? *request.user + "@" + request.host : request.host;
}

/// What else the client says, and what to do about it. The first that fits counts.
struct Meaning {
  std::string_view said;
  std::string_view remedy = {};  ///< empty: the line says it all
  bool again = false;
  bool too_old = false;
};
constexpr Meaning meanings[] = {
    {"Too many authentication failures", "give the right key with --ssh-identity-file"},
    {"Could not resolve hostname"},
    {"Bad configuration option"},
    {.said = "Bad SSH2 KexAlgorithms", .too_old = true},
    {"Connection refused", "is sshd running there?", true},
    {"Connection timed out", "is the host up, and its port open?"},
    {"No route to host", "is the host up?"},
    {"kex_exchange_identification", "the log of its sshd tells why (MaxStartups, hosts.deny, …)",
     true},
    {.said = "Connection reset", .again = true},
    {.said = "Connection closed", .again = true},
};

/// What -v adds, and the frames of warnings.
bool is_chatter(std::string_view line) {
  constexpr std::string_view fronts[] = {
      "debug1: ", "debug2: ",          "debug3: ",      "OpenSSH_",
      "@@@@",     "Authenticated to ", "Transferred: ", "Bytes per second: "};
  return std::ranges::any_of(fronts,
                             [line](std::string_view front) { return line.starts_with(front); });
}

/// "Offering public key: PATH TYPE SHA256:… [agent]"
std::string offered_key(std::string_view words) {
  const size_t digest = words.find(" SHA256:");
  if (digest == std::string_view::npos) return printable(words);
  const bool agent = words.ends_with(" agent");
  words = words.substr(0, digest);
  const size_t type = words.rfind(' ');
  if (type == std::string_view::npos) return printable(words);
  return format("{} from {}", lower_case(words.substr(type + 1)),
                agent ? "ssh-agent" : printable(words.substr(0, type)));
}

bool says(const ClientWords& words, std::string_view what) {
  return std::ranges::any_of(words.lines, [what](std::string_view line) {
    return line.find(what) != std::string_view::npos;
  });
}

/// The client refused the host's key; none when it did not, or for a reason that only it knows.
std::optional<std::string> host_key_failure(const ClientContext& context,
                                            const ClientWords& words) {
  if (words.host_key.fingerprint.empty() || !says(words, "Host key verification failed")) {
    return std::nullopt;
  }
  const HostKeyVerdict verdict = context.known.verdict(words.host_key);
  if (verdict.kind == HostKeyVerdict::Kind::known) return std::nullopt;
  return refused_host_key_message(verdict, context.known, words.host_key, context.request);
}

}  // namespace

std::vector<std::string> ssh_words(const SshRequest& request, const ClientOptions& options,
                                   const std::string& command) {
  std::vector<std::string> words = {"ssh"};
  const auto add = [&words](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  const auto timeout_s = std::max<int64_t>(
      1, std::chrono::ceil<std::chrono::seconds>(options.connect_timeout).count());
  add({"-v", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o",
       format("ConnectTimeout={}", timeout_s)});
  if (options.curve25519_first) {
    add({"-o", "KexAlgorithms=^curve25519-sha256,curve25519-sha256@libssh.org"});
  }
  if (request.config_file) add({"-F", *request.config_file});
  if (request.port) add({"-p", format("{}", *request.port)});
  for (const std::string& path : request.identity_files)
    add({"-i", path});
  add({"--", login_of(request), command});
  return words;
}

std::vector<std::string> rsh_words(const std::vector<std::string>& program,
                                   const SshRequest& request) {
  std::vector<std::string> words = program;
  if (request.user) words.insert(words.end(), {"-l", *request.user});
  words.insert(words.end(), {request.host, "/bin/sh"});
  return words;
}

ClientWords client_words(std::string_view messages) {
  ClientWords words;
  const auto after = [](std::string_view line, std::string_view front) {
    return line.starts_with(front) ? std::optional(line.substr(front.size())) : std::nullopt;
  };
  for (std::string_view line : split(messages, '\n')) {
    line = trim(line);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const auto key = after(line, "debug1: Server host key: ")) {
      const size_t blank = std::min(key->find(' '), key->size() - 1);
      words.host_key = {std::string(key->substr(0, blank)), printable(key->substr(blank + 1))};
    } else if (const auto offered = after(line, "debug1: Offering public key: ")) {
      words.tried.push_back(offered_key(*offered));
    } else if (!line.empty() && !is_chatter(line)) {
      words.lines.push_back(line);
    }
  }
  return words;
}

ClientFailure client_failure(const ClientContext& context, std::string_view messages,
                             std::string_view how_it_ended) {
  const ClientWords words = client_words(messages);
  if (auto refused = host_key_failure(context, words)) return {.text = *std::move(refused)};
  if (says(words, "Permission denied (")) {
    return {.text =
                login_refused_text(login_of(context.request), words.tried, context.key_problems)};
  }
  for (const Meaning& meaning : meanings) {
    const auto line = std::ranges::find_if(words.lines, [&meaning](std::string_view text) {
      return text.find(meaning.said) != std::string_view::npos;
    });
    if (line == words.lines.end()) continue;
    return {.text = meaning.remedy.empty()
                        ? printable(*line, 300)
                        : format("{}; {}", printable(*line, 300), meaning.remedy),
            .again = meaning.again,
            .too_old = meaning.too_old};
  }
  if (words.lines.empty()) return {.text = std::string(how_it_ended)};
  return {.text = format("{} ({})", printable(words.lines.back(), 300), how_it_ended)};
}

}  // namespace dt
