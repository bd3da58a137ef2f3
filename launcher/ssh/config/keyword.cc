#include "launcher/ssh/config/keyword.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/config/jump.h"
#include "launcher/ssh/config/pattern.h"

#include <algorithm>
#include <climits>
#include <iterator>

namespace dt {
namespace {

constexpr std::string_view flag = "yes|no|true|false";
constexpr std::string_view off = "no|false";
constexpr std::string_view on = "yes|true";

/// All directives of OpenSSH 9.2 and those that Debian adds.
/// It ignores directives that change nothing for dtrain's connection. This connection runs one
/// command without a terminal, forwards nothing, uses no password, and has its own heartbeats.
constexpr SshKeyword keywords[] = {
    {"addkeystoagent"},
    {"addressfamily", SshForm::choice, SshUse::read, "inet|inet6|any"},
    {"afstokenpassing"},
    {"batchmode", SshForm::choice, SshUse::ignored, flag},
    {"bindaddress", SshForm::word, SshUse::read},
    {"bindinterface", SshForm::word, SshUse::openssh},
    {"canonicaldomains"},
    {"canonicalizefallbacklocal", SshForm::choice, SshUse::ignored, flag},
    {"canonicalizehostname", SshForm::choice, SshUse::ssh_g, "yes|no|true|false|always", off},
    {"canonicalizemaxdots", SshForm::number},
    {"canonicalizepermittedcnames", SshForm::anything, SshUse::ssh_g, "", "none"},
    {"casignaturealgorithms", SshForm::word},
    {"certificatefile", SshForm::word, SshUse::collected},
    {"checkhostip", SshForm::choice, SshUse::openssh, flag, off},
    {"cipher"},
    {"ciphers", SshForm::word, SshUse::openssh},
    {"clearallforwardings", SshForm::choice, SshUse::ignored, flag},
    {"compression", SshForm::choice, SshUse::ignored, "yes|no"},
    {"compressionlevel"},
    {"connectionattempts", SshForm::number},
    {"connecttimeout", SshForm::time, SshUse::read},
    {"controlmaster", SshForm::choice, SshUse::ignored, "yes|no|true|false|auto|ask|autoask"},
    {"controlpath", SshForm::word},
    {"controlpersist"},
    {"dynamicforward"},
    {"enableescapecommandline", SshForm::choice, SshUse::ignored, flag},
    {"enablesshkeysign", SshForm::choice, SshUse::ignored, flag},
    {"escapechar"},
    {"exitonforwardfailure", SshForm::choice, SshUse::ignored, flag},
    {"fallbacktorsh"},
    {"fingerprinthash", SshForm::word},
    {"forkafterauthentication", SshForm::choice, SshUse::session, flag},
    {"forwardagent"},
    {"forwardx11", SshForm::choice, SshUse::ignored, flag},
    {"forwardx11timeout", SshForm::time},
    {"forwardx11trusted", SshForm::choice, SshUse::ignored, flag},
    {"gatewayports", SshForm::choice, SshUse::ignored, flag},
    {"globalknownhostsfile", SshForm::files, SshUse::read},
    {"globalknownhostsfile2"},
    {"gssapiauthentication", SshForm::choice, SshUse::read, flag},
    {"gssapiclientidentity", SshForm::word},
    {"gssapidelegatecredentials", SshForm::choice, SshUse::ignored, flag},
    {"gssapikexalgorithms", SshForm::word},
    {"gssapikeyexchange", SshForm::choice, SshUse::openssh, flag, off},
    {"gssapirenewalforcesrekey", SshForm::choice, SshUse::ignored, flag},
    {"gssapiserveridentity", SshForm::word},
    {"gssapitrustdns", SshForm::choice, SshUse::ignored, flag},
    {"hashknownhosts", SshForm::choice, SshUse::read, flag},
    {"host", SshForm::host},
    {"hostbasedacceptedalgorithms", SshForm::word},
    {"hostbasedauthentication", SshForm::choice, SshUse::openssh, flag, off},
    {"hostkeyalgorithms", SshForm::word, SshUse::openssh},
    {"hostkeyalias", SshForm::word, SshUse::read},
    {"hostname", SshForm::word, SshUse::read},
    {"identitiesonly", SshForm::choice, SshUse::read, flag},
    {"identityagent", SshForm::agent, SshUse::read},
    {"identityfile", SshForm::word, SshUse::collected},
    {"ignoreunknown", SshForm::ignore_unknown},
    {"include", SshForm::include},
    {"ipqos"},
    {"kbdinteractiveauthentication", SshForm::choice, SshUse::ignored, flag},
    {"kbdinteractivedevices", SshForm::word},
    {"kerberosauthentication"},
    {"kerberostgtpassing"},
    {"kexalgorithms", SshForm::word, SshUse::openssh},
    {"knownhostscommand", SshForm::command, SshUse::openssh, "", "none"},
    {"localcommand", SshForm::command},
    {"localforward"},
    {"loglevel", SshForm::word},
    {"logverbose", SshForm::files},
    {"macs", SshForm::word, SshUse::openssh},
    {"match", SshForm::match},
    {"nohostauthenticationforlocalhost", SshForm::choice, SshUse::openssh, flag, off},
    {"numberofpasswordprompts", SshForm::number},
    {"passwordauthentication", SshForm::choice, SshUse::ignored, flag},
    {"permitlocalcommand", SshForm::choice, SshUse::openssh, flag, off},
    {"permitremoteopen"},
    {"pkcs11provider", SshForm::word, SshUse::openssh, "", "none"},
    {"port", SshForm::port, SshUse::read},
    {"preferredauthentications", SshForm::word, SshUse::read},
    {"protocol"},
    {"protocolkeepalives"},
    {"proxycommand", SshForm::command, SshUse::read},
    {"proxyjump", SshForm::jumps, SshUse::read},
    {"proxyusefdpass", SshForm::choice, SshUse::ignored, flag},
    {"pubkeyacceptedalgorithms", SshForm::word, SshUse::openssh},
    {"pubkeyauthentication", SshForm::choice, SshUse::openssh,
     "yes|no|true|false|unbound|host-bound", on},
    {"rekeylimit"},
    {"remotecommand", SshForm::command, SshUse::session},
    {"remoteforward"},
    {"requesttty", SshForm::choice, SshUse::ignored, "yes|no|true|false|force|auto"},
    {"requiredrsasize", SshForm::number, SshUse::openssh, "", "1024"},
    {"revokedhostkeys", SshForm::word, SshUse::openssh, "", "none"},
    {"rhostsauthentication"},
    {"rhostsrsaauthentication"},
    {"rsaauthentication"},
    {"securitykeyprovider", SshForm::word},
    {"sendenv"},
    {"serveralivecountmax", SshForm::number},
    {"serveraliveinterval", SshForm::time},
    {"sessiontype", SshForm::choice, SshUse::session, "none|subsystem|default"},
    {"setenv"},
    {"setuptimeout"},
    {"stdinnull", SshForm::choice, SshUse::session, flag},
    {"streamlocalbindmask"},
    {"streamlocalbindunlink", SshForm::choice, SshUse::ignored, flag},
    {"stricthostkeychecking", SshForm::choice, SshUse::read,
     "yes|no|true|false|ask|off|accept-new"},
    {"syslogfacility", SshForm::word},
    {"tcpkeepalive", SshForm::choice, SshUse::ignored, flag},
    {"tunnel", SshForm::choice, SshUse::ignored, "yes|no|true|false|ethernet|point-to-point"},
    {"tunneldevice"},
    {"updatehostkeys", SshForm::choice, SshUse::ignored, "yes|no|true|false|ask"},
    {"useprivilegedport"},
    {"user", SshForm::word, SshUse::read},
    {"userknownhostsfile", SshForm::files, SshUse::read},
    {"userknownhostsfile2"},
    {"useroaming"},
    {"usersh"},
    {"verifyhostkeydns", SshForm::choice, SshUse::openssh, "yes|no|true|false|ask", off},
    {"visualhostkey", SshForm::choice, SshUse::ignored, flag},
    {"xauthlocation", SshForm::word},
};
static_assert(std::ranges::is_sorted(keywords, {}, &SshKeyword::name));

struct OldName {
  std::string_view name;
  std::string_view now;
};
constexpr OldName old_names[] = {
    {"challengeresponseauthentication", "kbdinteractiveauthentication"},
    {"dsaauthentication", "pubkeyauthentication"},
    {"hostbasedkeytypes", "hostbasedacceptedalgorithms"},
    {"identityfile2", "identityfile"},
    {"keepalive", "tcpkeepalive"},
    {"pubkeyacceptedkeytypes", "pubkeyacceptedalgorithms"},
    {"skeyauthentication", "kbdinteractiveauthentication"},
    {"smartcarddevice", "pkcs11provider"},
    {"tisauthentication", "kbdinteractiveauthentication"},
};

bool is_among(std::string_view word, std::string_view barred) {
  return std::ranges::any_of(split(barred, '|'), [word](std::string_view choice) {
    return equals_ignoring_case(word, choice);
  });
}

std::optional<int> multiplier_of(char unit) {
  switch (unit) {
    case 's':
    case 'S':
      return 1;
    case 'm':
    case 'M':
      return 60;
    case 'h':
    case 'H':
      return 3600;
    case 'd':
    case 'D':
      return 86400;
    case 'w':
    case 'W':
      return 604800;
    default:
      return std::nullopt;
  }
}

/// Parses "1h30m" or "90": whole numbers, each with a unit; a number without one is in seconds.
std::optional<int> parse_time(std::string_view text) {
  int64_t total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::optional<int64_t> number = parse_integer(text.substr(0, digits));
    text.remove_prefix(digits);
    const std::optional<int> multiplier = text.empty() ? 1 : multiplier_of(text.front());
    if (!text.empty()) text.remove_prefix(1);
    if (!number || !multiplier || *number > INT_MAX / *multiplier) return std::nullopt;
    total += *number * *multiplier;
    if (total > INT_MAX) return std::nullopt;
  }
  return static_cast<int>(total);
}

bool is_number(std::string_view word) {
  const std::optional<int64_t> number = parse_integer(word);
  return number && *number >= 0 && *number <= INT_MAX;
}

/// True for a port number, and for any word that may be the name of a service: ssh resolves those.
bool may_be_port(std::string_view word) {
  if (word.find_first_not_of("0123456789") != std::string_view::npos) return true;
  const std::optional<int64_t> number = parse_integer(word);
  return number && *number >= 1 && *number <= 65535;
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool may_be_agent(std::string_view word) {
  if (!word.starts_with('$') || word.starts_with("${")) return true;
  return is_variable_name(word.substr(1));
}

/// Returns true when the first word has the form; none for forms that are not about one word.
std::optional<bool> word_fits(const SshKeyword& keyword, std::string_view word) {
  switch (keyword.form) {
    case SshForm::word:
    case SshForm::ignore_unknown:
      return true;
    case SshForm::choice:
      return is_among(word, keyword.choices);
    case SshForm::number:
      return is_number(word);
    case SshForm::port:
      return may_be_port(word);
    case SshForm::time:
      return word == "none" || parse_time(word).has_value();
    case SshForm::agent:
      return may_be_agent(word);
    default:
      return std::nullopt;
  }
}

Result<> check_files(const SshKeyword& keyword, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.empty()) return fail(Errc::input, format("{}: an empty word", keyword.name));
    if (words.size() > 1 && equals_ignoring_case(word, "none")) {
      return fail(Errc::input, format("{}: \"none\" must stand alone", keyword.name));
    }
  }
  return {};
}

}  // namespace

bool SshKeyword::is_harmless(const std::vector<std::string>& values) const {
  return values.size() == 1 && !harmless.empty() && is_among(values.front(), harmless);
}

const SshKeyword* find_ssh_keyword(std::string_view name) {
  const auto* old = std::ranges::find(old_names, name, &OldName::name);
  if (old != std::end(old_names)) name = old->now;
  const auto* found = std::ranges::lower_bound(keywords, name, {}, &SshKeyword::name);
  return found != std::end(keywords) && found->name == name ? found : nullptr;
}

Result<> check_ssh_value(const SshKeyword& keyword, const std::vector<std::string>& words,
                         std::string_view rest) {
  if (keyword.form == SshForm::files) return check_files(keyword, words);
  if (keyword.form == SshForm::jumps) {
    TRY(parse_ssh_jumps(rest));
    return {};
  }
  const std::string word = words.empty() ? "" : words.front();
  const std::optional<bool> fits = word_fits(keyword, word);
  if (!fits) return {};
  if (word.empty()) return fail(Errc::input, format("{}: its value is missing", keyword.name));
  if (!*fits)
    return fail(Errc::input, format("{}: bad value \"{}\"", keyword.name, printable(word)));
  if (words.size() > 1) {
    return fail(Errc::input,
                format("{}: \"{}\" is one word too many", keyword.name, printable(words[1])));
  }
  return {};
}

std::optional<int> ssh_time_seconds(std::string_view text) {
  return parse_time(text);
}

}  // namespace dt
