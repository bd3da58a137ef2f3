#pragma once

#include "base/result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One machine that offers slots, as the user named it.
struct Host {
  std::string name;       ///< name or address, without brackets
  std::string user = {};  ///< empty: ssh's default
  int slots = 0;          ///< 0: not given
  bool here = false;      ///< this machine, to be reached without ssh
  int max_slots = 0;      ///< no more processes than these, even oversubscribed; 0: no such limit
  bool counted = false;   ///< the slots are not given: they are the number of its mentions
  bool shared = false;    ///< roles name the host, and share what it offers
  /// "a:4", "user@[::1]:4": what parse_host_list reads back (it knows no max_slots).
  std::string text() const;
  /// The same machine for the same login, whatever it offers.
  bool same_as(const Host& other) const { return name == other.name && user == other.user; }
  bool operator==(const Host&) const = default;
};

inline constexpr int slots_max = 4096;
inline constexpr size_t hosts_max = 65536;

/// A parsed list, and what is worth a warning (a host given twice).
struct HostList {
  std::vector<Host> hosts;
  std::vector<std::string> warnings;
  bool operator==(const HostList&) const = default;
};

/// A file's text by its path; the error says why not ("No such file or directory").
using TextReader = std::function<Result<std::string>(const std::string& path)>;

/// "a:4,b:4", "[user@]host[:slots]", "[::1]:4", "node[01-16]:8", "@FILE" for the hosts of a
/// hostfile. `option` ("-H") names the place in errors.
Result<HostList> parse_host_list(std::string_view text, std::string_view option,
                                 const TextReader& read_text = {});
/// A hostfile's text, in the shapes of Horovod, Open MPI, DeepSpeed (`host slots=N max_slots=M
/// user=NAME`) and MPICH (`host:N`): names may hold ranges; # comments, blank lines, CRLF, BOM.
/// `path` names the place in errors ("hosts:3:9: …").
Result<HostList> parse_hostfile(std::string_view text, std::string_view path);

/// Whether this machine is meant: localhost, 127.0.0.1, ::1, its names and its interface addresses
/// (`own`: both of them). Other 127.x addresses are hosts of their own, and naming a user asks for
/// a login.
bool is_local(const Host& host, const std::vector<std::string>& own);

}  // namespace dt
