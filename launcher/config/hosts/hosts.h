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
  std::string user = {};  ///< empty: that of ssh's configuration
  int slots = 0;          ///< 0: not given
  bool here = false;      ///< this machine, which needs no ssh
  int max_slots = 0;      ///< limit of processes, even with --oversubscribe; 0: none
  bool counted = false;   ///< true: `slots` is the number of its mentions
  bool shared = false;    ///< roles name the host and share its slots
  /// The slots of a host without GPUs, where `slots` is not given; 0: its CPUs.
  int slots_without_gpus = 0;
  /// Returns "a:4" or "user@[::1]:4", which parse_host_list parses (without max_slots).
  std::string text() const;
  /// True for the same machine and user, whatever the slots.
  bool same_as(const Host& other) const { return name == other.name && user == other.user; }
  bool operator==(const Host&) const = default;
};

inline constexpr int slots_max = 4096;
inline constexpr size_t hosts_max = 65536;

/// Where the hosts of a job are named that may change while it runs. Both are empty for -H, the
/// hosts of a scheduler, and this machine.
struct HostSource {
  std::string hostfile = {};  ///< --hostfile, a path
  std::string program = {};   ///< --host-discovery-script, a path that prints a hostfile
  int slots_per_host = 0;     ///< of the hosts that the program prints without slots; 0: unknown
  bool changes() const { return !hostfile.empty() || !program.empty(); }
  bool operator==(const HostSource&) const = default;
};

/// A parsed list, and warnings such as for a host that is given twice.
struct HostList {
  std::vector<Host> hosts;
  std::vector<std::string> warnings;
  bool operator==(const HostList&) const = default;
};

/// Returns a file's text by its path; the error is the reason ("No such file or directory").
using TextReader = std::function<Result<std::string>(const std::string& path)>;

/// Parses a list of "[user@]host[:slots]", such as "a:4,[::1]:4,node[01-16]:8"; "@FILE" stands for
/// the hosts of a hostfile. `option` ("-H") names the place in errors.
Result<HostList> parse_host_list(std::string_view text, std::string_view option,
                                 const TextReader& read_text = {});
/// Parses a hostfile of Horovod, Open MPI, DeepSpeed (`host slots=N max_slots=M user=NAME`) or
/// MPICH
/// (`host:N`). Names may contain ranges. Comments with #, blank lines, CRLF and a BOM are allowed.
/// `path` names the place in errors ("hosts:3:9: …").
Result<HostList> parse_hostfile(std::string_view text, std::string_view path);

/// True for this machine: localhost, 127.0.0.1, ::1, and its names and interface addresses (`own`).
/// False for other 127.x addresses, and for hosts with a user, which require a login.
bool is_local(const Host& host, const std::vector<std::string>& own);

}  // namespace dt
