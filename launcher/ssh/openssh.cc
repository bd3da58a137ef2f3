#include "launcher/ssh/openssh.h"

#include "base/format.h"
#include "base/text.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace dt {

namespace {

/// As a person would type it.
std::string login_of(const SshRequest& request) {
  return request.user ? *request.user + "@" + request.host : request.host;
}

/// What OpenSSH's client says, what that means, and what to do about it. {} is the login, %h the
/// host. The first that fits counts.
struct Meaning {
  std::string_view said;
  std::string_view remedy;  ///< empty: the line says it all
  bool again = false;
  bool too_old = false;
};
constexpr Meaning meanings[] = {
    {"REMOTE HOST IDENTIFICATION HAS CHANGED",
     "its host key has changed; if that is right: ssh-keygen -R %h, then ssh {} once"},
    {"Host key verification failed",
     "its host key is not known; to look at it and keep it: ssh {}"},
    {"Permission denied", "login refused; to allow your key: ssh-copy-id {}"},
    {"Too many authentication failures", "give the right key with --ssh-identity-file"},
    {"Could not resolve hostname", ""},
    {"Bad configuration option", ""},
    {"Bad SSH2 KexAlgorithms", "", false, true},
    {"Connection refused", "is sshd running there?", true},
    {"Connection timed out", "is the host up, and its port open?"},
    {"No route to host", "is the host up?"},
    {"kex_exchange_identification", "", true},
    {"Connection reset", "", true},
    {"Connection closed", "", true},
};

std::string fill(std::string_view remedy, const SshRequest& request) {
  std::string text;
  while (!remedy.empty()) {
    const bool login = remedy.starts_with("{}");
    const bool name = remedy.starts_with("%h");
    text += login ? login_of(request) : name ? request.host : std::string(remedy.substr(0, 1));
    remedy.remove_prefix(login || name ? 2 : 1);
  }
  return text;
}

/// Lines that say something; the client frames its warnings with rows of @.
std::vector<std::string_view> lines_of(std::string_view messages) {
  std::vector<std::string_view> lines;
  for (std::string_view line : split(messages, '\n')) {
    line = trim(line);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("@@@@")) lines.push_back(line);
  }
  return lines;
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
  add({"-T", "-a", "-x", "-o", "BatchMode=yes", "-o", format("ConnectTimeout={}", timeout_s)});
  if (options.curve25519_first) {
    add({"-o", "KexAlgorithms=^curve25519-sha256,curve25519-sha256@libssh.org"});
  }
  if (options.tells_key) add({"-v"});
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

ClientFailure client_failure(const SshRequest& request, std::string_view messages,
                             std::string_view how_it_ended) {
  const std::vector<std::string_view> lines = lines_of(messages);
  for (const Meaning& meaning : meanings) {
    const auto line = std::ranges::find_if(lines, [&meaning](std::string_view text) {
      return text.find(meaning.said) != std::string_view::npos;
    });
    if (line == lines.end()) continue;
    const std::string remedy = fill(meaning.remedy, request);
    return {.text = remedy.empty() ? printable(*line, 300)
                                   : format("{} ({})", remedy, printable(*line, 300)),
            .again = meaning.again,
            .too_old = meaning.too_old};
  }
  if (lines.empty()) return {.text = std::string(how_it_ended)};
  return {.text = format("{} ({})", printable(lines.back(), 300), how_it_ended)};
}

}  // namespace dt
