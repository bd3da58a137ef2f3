#include "base/base64.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/ssh/config/pattern.h"
#include "launcher/ssh/keys/known_hosts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dt {
namespace {

/// Returns the command by which a person logs in to the same host once.
std::string login_command(const SshRequest& request, std::string_view option) {
  std::string command = "ssh";
  if (!option.empty()) command += format(" {}", option);
  if (request.config_file) command += " -F " + shell_quote(*request.config_file);
  if (request.port) command += format(" -p {}", *request.port);
  if (request.user) command += " -l " + shell_quote(*request.user);
  return command + " " + shell_quote(request.host) + " true";
}

// Further lines are indented, since the messages of many hosts are listed one below the other.

std::string unknown_message(const std::string& shown, const KnownHost& host,
                            const SshRequest& request) {
  return format(
      "{} is not known: no known_hosts file lists {}\n"
      "  compare the fingerprint with one from the host's administrator, then accept it: {}\n"
      "  to accept whatever new hosts show: {}",
      shown, printable(host.name), login_command(request, ""),
      login_command(request, "-o StrictHostKeyChecking=accept-new"));
}

std::string changed_message(const std::string& shown, const KnownHost& host, const KnownKey& by,
                            const SshRequest& request) {
  return format(
      "{} is not the one of {} ({})\n"
      "  the host was reinstalled, or somebody intercepts the connection: compare the fingerprint "
      "with one "
      "from its administrator\n"
      "  if it is right: ssh-keygen -f {} -R {} && {}",
      shown, by.place(), by.key.type, shell_quote(by.file), shell_quote(host.name),
      login_command(request, ""));
}

std::string revoked_message(const std::string& shown, const KnownKey& by) {
  return format(
      "{} is revoked by {}\n"
      "  its private key may be stolen: do not log in; the host needs a new key (there: remove "
      "the old ones, then ssh-keygen -A)\n"
      "  if the line is wrong, delete it: sed -i {}d {}",
      shown, by.place(), by.line, shell_quote(by.file));
}

/// True when the file is not empty and does not end in a newline.
bool ends_amid_line(int file) {
  struct stat status = {};
  char last = '\n';
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return false;
  return pread(file, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

}  // namespace

std::string refused_host_key_message(const HostKeyVerdict& verdict, const KnownHost& host,
                                     const HostKeyName& key, const SshRequest& request) {
  const std::string shown = format("its host key {} {}", printable(key.type), key.fingerprint);
  if (!verdict.by) return unknown_message(shown, host, request);
  if (verdict.kind == HostKeyVerdict::Kind::revoked) return revoked_message(shown, *verdict.by);
  return changed_message(shown, host, *verdict.by, request);
}

std::string known_hosts_line(std::string_view name, const HostKey& key,
                             const std::optional<Sha1Digest>& salt) {
  std::string listed = lower_case(name);
  if (salt) {
    const Sha1Digest hash = HmacSha1().digest(*salt, as_bytes(listed));
    listed = format("|1|{}|{}", base64_encode(*salt), base64_encode(hash));
  }
  return format("{} {}\n", listed, host_key_text(key));
}

Result<> append_known_hosts(const std::string& path, std::string_view line) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (!folder.empty() && mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno("cannot make " + printable(folder));
  }
  const Fd file(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return fail_errno("cannot write " + printable(path));
  // One write, so that no other process that appends at the same time splits the line.
  const std::string all = (ends_amid_line(file.get()) ? "\n" : "") + std::string(line);
  if (write(file.get(), all.data(), all.size()) != static_cast<ssize_t>(all.size())) {
    return fail_errno("cannot write " + printable(path));
  }
  return {};
}

}  // namespace dt
