#pragma once

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/keys/host_key.h"
#include "tests/unit/run_program.h"
#include "tests/unit/temporary_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// A real ssh's verdict on a server's host key.
struct RealVerdict {
  std::string outcome;  ///< "accepted", "recorded", "unknown", "changed", "revoked", or its output
  std::string place;    ///< of the line that it names
  std::string key_type;
  std::string fingerprint;
};

/// A real sshd with its own host keys. A real ssh connects to it through a pipe. The sshd needs no
/// port and no name look-up, and leaves nothing behind. No login succeeds, so that each ends after
/// the host key.
class RealSshd {
 public:
  /// Returns why sshd cannot run here; none when it can.
  static std::optional<std::string> obstacle() {
    if (run_program({"ssh", "-V"}).status != 0) return "there is no ssh";
    if (access("/usr/sbin/sshd", X_OK) != 0) return "there is no /usr/sbin/sshd";
    // As root, sshd wants this empty folder, which Debian's service makes.
    if (getuid() == 0 && mkdir("/run/sshd", 0755) != 0 && errno != EEXIST) {
      return "/run/sshd cannot be made";
    }
    return std::nullopt;
  }

  /// Makes keys "ed25519", "ecdsa", "rsa", "other" (an ed25519 key of nobody) and "ca".
  RealSshd() {
    for (const std::string name : {"ed25519", "ecdsa", "rsa", "other", "ca"}) {
      const std::string type = name == "other" || name == "ca" ? "ed25519" : name;
      run_program({"ssh-keygen", "-q", "-t", type, "-N", "", "-C", "of " + name, "-f", path(name)});
    }
    run_program({"ssh-keygen", "-q", "-s", path("ca"), "-h", "-I", "id", "-n", "node1",
                 path("ed25519") + ".pub"});
  }

  std::string path(std::string_view name) const { return format("{}/{}", folder_.path(), name); }
  const TemporaryFolder& folder() const { return folder_; }
  /// Returns "ssh-ed25519 AAAA… of ed25519", without a newline.
  std::string key_text(const std::string& name) const {
    return std::string(trim(folder_.read(name + ".pub")));
  }
  HostKey key(const std::string& name) const { return parse_host_key(key_text(name)).value(); }

  /// Makes the server show these keys; with "certificate" also that of ed25519.
  void show_keys(const std::vector<std::string>& names) const {
    std::string config = "PidFile none\nUsePAM no\nAuthorizedKeysFile none\nStrictModes no\n";
    for (const std::string& name : names) {
      config += name == "certificate" ? format("HostCertificate {}-cert.pub\n", path("ed25519"))
                                      : format("HostKey {}\n", path(name));
    }
    folder_.write("sshd_config", config);
  }

  /// Logs in to `host` with known_hosts files "user" and "global" of the folder.
  RealVerdict ask(const std::string& host, const std::vector<std::string>& options) const {
    std::vector<std::string> command = {"ssh", "-v", "-F", "none"};
    const auto add = [&command](const std::string& option) {
      command.insert(command.end(), {"-o", option});
    };
    for (const std::string& option : options)
      add(option);
    add("BatchMode=yes");
    add("PreferredAuthentications=none");
    add("KexAlgorithms=curve25519-sha256");
    add("UserKnownHostsFile=" + path("user"));
    add("GlobalKnownHostsFile=" + path("global"));
    add("ProxyCommand=/usr/sbin/sshd -i -f " + path("sshd_config"));
    command.insert(command.end(), {"--", host, "true"});
    return verdict_in(run_program(command).error);
  }

 private:
  /// Returns the word after `what`; empty when `what` is absent.
  static std::string after(const std::string& text, std::string_view what) {
    const size_t begin = text.find(what);
    if (begin == std::string::npos) return {};
    const size_t first = begin + what.size();
    return text.substr(first, text.find_first_of(" \r\n", first) - first);
  }

  static RealVerdict verdict_in(const std::string& output) {
    const auto has = [&output](std::string_view what) {
      return output.find(what) != std::string::npos;
    };
    RealVerdict verdict = {output, "", after(output, "Server host key: "), ""};
    verdict.fingerprint = after(output, "Server host key: " + verdict.key_type + " ");
    if (has("REVOKED HOST KEY")) {
      verdict.outcome = "revoked";
    } else if (has("HOST IDENTIFICATION HAS CHANGED")) {
      verdict.outcome = "changed";
      for (const char* type : {"ED25519", "ECDSA", "RSA"}) {
        const std::string place = after(output, format("Offending {} key in ", type));
        if (!place.empty()) verdict.place = place;
      }
    } else if (has("Permanently added")) {
      verdict.outcome = "recorded";
    } else if (has("Host key verification failed")) {
      verdict.outcome = "unknown";
    } else if (has("Permission denied")) {
      verdict.outcome = "accepted";
      verdict.place = after(output, has("Found CA key in ") ? "Found CA key in " : "Found key in ");
    }
    if (has("Permission denied") && verdict.outcome == "changed") verdict.outcome = "accepted";
    if (has("Permission denied") && verdict.outcome == "revoked") verdict.outcome = "accepted";
    return verdict;
  }

  TemporaryFolder folder_;
};

}  // namespace dt
