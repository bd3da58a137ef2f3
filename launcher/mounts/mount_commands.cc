#include "launcher/mounts/mount_commands.h"

#include "base/format.h"
#include "base/io/loop.h"
#include "base/text.h"
#include "launcher/mounts/mount_table.h"
#include "launcher/process/child.h"
#include "launcher/process/pidfd.h"
#include "launcher/process/sweep.h"
#include "launcher/sync/setup/setup_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

namespace dt {
namespace {

constexpr std::string_view target_macro = "{target}";
constexpr size_t shown_line_bytes_max = 200;

std::vector<std::string> own_variables() {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at)
    variables.emplace_back(*at);
  return variables;
}

/// Runs a program to its end, for a second at most. Returns true for exit status 0.
bool runs_well(const std::string& path, std::vector<std::string> arguments) {
  constexpr int limit_ms = 1000;
  auto child = Child::start(
      {.path = path, .arguments = std::move(arguments), .environment = own_variables()});
  if (!child) return false;
  pollfd ended = {.fd = child->pidfd(), .events = POLLIN, .revents = 0};
  const bool in_time = ::poll(&ended, 1, limit_ms) > 0;
  const auto status = in_time ? child->reap() : child->kill();
  return in_time && status && status->good();
}

/// Unmounts a folder: root by itself, others by the program that may do it for them.
void unmount(const std::string& folder) {
  if (::umount2(folder.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return;
  for (const char* const program :
       {"/usr/bin/fusermount3", "/bin/fusermount3", "/usr/bin/fusermount", "/bin/fusermount"}) {
    if (::access(program, X_OK) == 0 && runs_well(program, {"fusermount", "-u", "-z", folder}))
      return;
  }
}

/// A command and its output.
struct Running {
  MountCommand command;
  Child child;
  Fd printed;
  LastLines last = {};
  Watch reads = {};
  Watch end = {};
  bool ended = false;
  bool is_up = false;
};

/// The commands of a host.
///
///   all start ── all mounts are there ─▶ answer ── connection ends ─▶ Sweep ─▶ unmount ─▶ done
///       └── one fails, patience ends ──▶ answer ────────────────────────▲
class MountCommands {
 public:
  MountCommands(Loop& loop, int connection) : loop_(loop), connection_(connection) {}

  Result<> run(const std::vector<MountCommand>& commands, Duration patience) {
    hang_up_ = TRY(loop_.watch(connection_, EPOLLIN | EPOLLRDHUP, [this](uint32_t) {
      hang_up_ = Watch();
      end();
    }));
    table_ = Fd(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    if (!table_) return fail_errno("cannot open /proc/self/mountinfo");
    // The kernel reports each change of the mounts so.
    changes_ = TRY(loop_.watch(table_.get(), EPOLLPRI, [this](uint32_t) { look(); }));
    for (const MountCommand& command : commands)
      TRY(start(command));
    deadline_ = loop_.after(patience, [this, patience] { late(patience); });
    look();
    return finish();
  }

  /// Returns when all processes have ended.
  Result<> finish() {
    while (!over_)
      TRY(loop_.run_once(Time::max()));
    return {};
  }

  void answer(const Result<>& answer) {
    if (std::exchange(answered_, true)) return;
    deadline_ = Timer();
    changes_ = Watch();
    // If the other end is gone, so is the reader of the answer.
    static_cast<void>(write_all(connection_, encode_mounts_answer(answer)));
    if (!answer) end();
  }

 private:
  Result<> start(const MountCommand& command) {
    Pipe pipe = TRY(make_pipe());
    Child child = TRY(Child::start({.path = "/bin/sh",
                                    .arguments = {"sh", "-c", shell_line(command)},
                                    .environment = own_variables(),
                                    .cwd = {},
                                    .output = pipe.write.get(),
                                    .error = pipe.write.get(),
                                    .death_signal = SIGTERM,
                                    .new_session = true}));
    TRY(set_nonblocking(pipe.read.get()));
    running_.push_back(std::make_unique<Running>(
        Running{.command = command, .child = std::move(child), .printed = std::move(pipe.read)}));
    Running& it = *running_.back();
    it.reads = TRY(loop_.watch(it.printed.get(), EPOLLIN, [this, &it](uint32_t) { read(it); }));
    it.end = TRY(loop_.watch(it.child.pidfd(), EPOLLIN, [this, &it](uint32_t) { ended(it); }));
    return {};
  }

  /// Reads on while the mount lives: a program that nobody reads would wait.
  static void read(Running& it) {
    std::array<char, size_t{16} << 10> buffer;
    const ssize_t n = ::read(it.printed.get(), buffer.data(), buffer.size());
    if (n > 0) it.last.add(std::string_view(buffer.data(), static_cast<size_t>(n)));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) it.reads = Watch();
  }

  void ended(Running& it) {
    it.end = Watch();
    it.ended = true;
    const auto status = it.child.reap();
    look();
    if (it.is_up || answered_) return;
    read(it);
    if (status && !status->good()) return answer(failure(it, status->text()));
    // A program in the background may still mount.
    if (find_descendants().empty()) answer(failure(it, "it has ended without a mount there"));
  }

  void look() {
    if (answered_) return;
    const auto table = own_mount_table();
    if (!table) return answer(tl::unexpected(table.error()));
    for (const auto& it : running_)
      it->is_up = it->is_up || is_mounted_at(*table, it->command.folder);
    if (!std::ranges::all_of(running_, [](const auto& it) { return it->is_up; })) return;
    // Waits until the file system answers.
    for (const auto& it : running_) {
      struct stat about = {};
      if (::stat(it->command.folder.c_str(), &about) != 0)
        return answer(failure(*it, format("its mount does not work: {}", errno_text(errno))));
    }
    answer({});
  }

  void late(Duration patience) {
    for (const auto& it : running_) {
      if (it->is_up) continue;
      read(*it);
      return answer(failure(*it, format("no mount is there after {}; --start-timeout limits the "
                                        "start of a job",
                                        duration_text(patience))));
    }
  }

  static tl::unexpected<Error> failure(const Running& it, const std::string& why) {
    std::string text =
        format("the command for the mount at {}, {}: {}", printable(it.command.target),
               shell_quote(printable(it.command.line, shown_line_bytes_max)), why);
    const std::vector<std::string> lines = it.last.lines();
    text += lines.empty() ? "; it has printed nothing" : "; its last lines:";
    for (const std::string& line : lines)
      text += format("\n  {}", line);
    return fail(Errc::input, std::move(text));
  }

  void end() {
    if (sweep_) return;
    answered_ = true;
    deadline_ = Timer();
    changes_ = Watch();
    const auto is_ours = [this](pid_t pid) {
      return std::ranges::any_of(
          running_, [pid](const auto& it) { return !it->ended && it->child.pid() == pid; });
    };
    sweep_.emplace(loop_, Sweep::Options{.ours = is_ours},
                   [this](const Sweep::Report&) { over_ = true; });
  }

  Loop& loop_;
  int connection_;
  Fd table_;
  std::vector<std::unique_ptr<Running>> running_;
  std::optional<Sweep> sweep_;
  Watch hang_up_;
  Watch changes_;
  Timer deadline_;
  bool answered_ = false;
  bool over_ = false;
};

void remove_places(const std::vector<MountCommand>& commands) {
  const auto table = own_mount_table();
  for (const MountCommand& command : commands) {
    if (!table || is_mounted_at(*table, command.folder)) unmount(command.folder);
    ::rmdir(command.folder.c_str());
  }
  if (commands.empty()) return;
  const std::string& first = commands.front().folder;
  ::rmdir(first.substr(0, first.rfind('/')).c_str());
}

}  // namespace

std::string shell_line(const MountCommand& command) {
  const std::string folder = shell_quote(command.folder);
  std::string line = command.line;
  for (size_t at = line.find(target_macro); at != std::string::npos;
       at = line.find(target_macro, at + folder.size()))
    line.replace(at, target_macro.size(), folder);
  return line;
}

Bytes encode_mounts_answer(const Result<>& answer) {
  return Writer().text(answer ? "" : answer.error().message).take();
}

std::optional<Result<>> decode_mounts_answer(ByteSpan bytes) {
  Reader reader(bytes);
  const std::string why = reader.text();
  if (!reader.ok()) return std::nullopt;
  if (why.empty()) return Result<>();
  return Result<>(fail(Errc::input, why));
}

void serve_mount_commands(Fd connection, const std::vector<MountCommand>& commands,
                          Duration patience) {
  // The end of the connection ends this process, which must unmount before.
  ::prctl(PR_SET_PDEATHSIG, 0);
  // Not ignored: the commands would inherit that.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&ends, number);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  become_subreaper();
  const auto loop = Loop::create();
  if (loop) {
    MountCommands running(**loop, connection.get());
    if (const auto ran = running.run(commands, patience); !ran) {
      running.answer(ran);
      static_cast<void>(running.finish());
    }
  }
  remove_places(commands);
}

}  // namespace dt
