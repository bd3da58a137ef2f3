#pragma once

#include "base/clock.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/config/mounts/mount.h"
#include "launcher/mounts/mount_commands.h"
#include "launcher/sync/forked_service.h"

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the folder of the host for each mount, in their order; empty for one by a command. Fails
/// with Errc::input, the source and the reason where there is none.
Result<std::vector<std::string>> find_sources(const std::vector<Mount>& mounts);

/// An order for mounts.
struct MountOrder {
  std::vector<Mount> mounts;
  Duration patience = {};   ///< of commands, for their mounts
  std::string folder = {};  ///< of the tasks
};

/// The mounts of an agent, which its tasks inherit. The agent moves into a mount namespace, so the
/// host sees none of them, and they end with the last process of the job.
///
///   set_up ─▶ commands run, in a process and a namespace of their own ─▶ all mounts in place
///   end ────▶ commands get SIGTERM ─▶ unmounted ─▶ done
///
/// Without root the namespace belongs to a user namespace. There the programs that mount for a user
/// do not work, so the commands run outside of it.
class HostMounts {
 public:
  using Done = std::function<void(const Result<>&)>;
  explicit HostMounts(Loop& loop) : loop_(loop) {}
  HostMounts(const HostMounts&) = delete;
  HostMounts& operator=(const HostMounts&) = delete;
  /// Ends the commands, and waits for that; for end_patience at most.
  ~HostMounts();

  /// Makes the mounts. Calls `done` once, perhaps at once; after the first call always at once,
  /// with the same result, since mounts stay. Fails with Errc::input for a folder or a command of
  /// the user, and where the host allows no mounts; with Errc::os else.
  void set_up(MountOrder order, Done done);
  /// Ends the commands, and calls `done` then; at once where there are none.
  void end(std::function<void()> done);

  /// True for the process that runs commands; only this object reaps it.
  bool owns(pid_t pid) const { return service_ && service_->pid() == pid; }
  /// Returns that process, if there is one. The end of the tasks spares it and its descendants.
  std::vector<pid_t> processes() const;

 private:
  Result<bool> start_commands();
  Result<std::vector<MountCommand>> make_places();
  size_t receive(ByteSpan bytes);
  void commands_ended();
  void finish(const Result<>& result);
  Result<> enter_namespace();
  Result<> put_in_place();

  static constexpr Duration end_patience = seconds(4);
  Loop& loop_;
  MountOrder order_;
  std::vector<std::string> sources_;  ///< by mount; of commands, the folder where one mounts
  std::optional<ForkedService> service_;
  std::unique_ptr<Stream> connection_;
  std::optional<Result<>> result_;
  Done on_set_up_;
  std::function<void()> on_ended_;
  Timer end_timer_;
  bool is_root_ = false;  ///< in a namespace of the first kind
};

}  // namespace dt
