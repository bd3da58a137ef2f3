#pragma once

#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/discovery/discovery_program.h"

#include <functional>
#include <memory>

namespace dt {

/// Reads the hosts of a job again, while it runs, from a hostfile or from a program that prints
/// one. Destruction ends a program that still runs, with its processes.
class HostDiscovery {
 public:
  /// Requires that the source names a hostfile or a program.
  HostDiscovery(Loop& loop, HostSource source, DiscoveryLimits limits = {});
  HostDiscovery(const HostDiscovery&) = delete;
  HostDiscovery& operator=(const HostDiscovery&) = delete;

  /// A program that prints no host gives an empty list: the job waits for hosts. A hostfile without
  /// a host is an error. Errors are Errc::input, and name the source and what is wrong there.
  using OnRead = std::function<void(Result<HostList>)>;
  /// `on_read` is called by the loop, never from within read(). It may call read(), or destroy this
  /// object. Requires !is_reading().
  void read(OnRead on_read);
  bool is_reading() const { return on_read_ != nullptr; }

 private:
  void start_program();
  void finish(Result<HostList> list);

  Loop& loop_;
  HostSource source_;
  DiscoveryLimits limits_;
  OnRead on_read_;  ///< null: nothing is being read
  std::unique_ptr<DiscoveryProgram> program_;
  Timer timer_;
};

/// Reads the hosts once, and runs the loop meanwhile. Fails as HostDiscovery does, and with
/// Errc::interrupted when `interrupted` becomes true, which an event of the loop must cause.
Result<HostList> read_once(Loop& loop, const HostSource& source,
                           const std::function<bool()>& interrupted);

/// Parses the output of a program that prints hosts, named `program`. Hosts without slots get
/// `slots_per_host`, unless that is 0.
Result<HostList> parse_discovered_hosts(const std::string& output, const std::string& program,
                                        int slots_per_host);

}  // namespace dt
