#include "launcher/mounts/host_mounts.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/mounts/missing_folders.h"
#include "launcher/mounts/mount_namespace.h"
#include "launcher/mounts/mount_table.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

namespace dt {
namespace {

/// Returns 0 for a folder, else why it is none.
int folder_fault(const std::string& path) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0) return errno;
  return S_ISDIR(about.st_mode) ? 0 : ENOTDIR;
}

Result<> check_folder(const std::string& path, const Mount& mount) {
  const int fault = folder_fault(path);
  if (fault == 0) return {};
  return fail(Errc::input, format("cannot mount {} at {}: {}", shell_quote(printable(path)),
                                  shell_quote(printable(mount.target)), errno_text(fault)));
}

Result<std::string> find_export(const Mount& mount) {
  const NfsExport wanted = TRY(parse_nfs_export(mount.source));
  const MountTable table = TRY(own_mount_table());
  const auto place = place_of_export(table, wanted);
  if (place) return *place;
  return fail(
      Errc::input,
      format("cannot mount {} at {}: the host has not mounted it; an administrator does so, "
             "for example: mount -t nfs {} /mnt",
             printable(mount.source), shell_quote(printable(mount.target)),
             shell_quote(printable(format("{}:{}", wanted.server, wanted.path)))));
}

/// True for a mount that shows the tasks what they see without it.
bool is_there(const Mount& mount, const std::string& source) {
  return mount.command.empty() && mount.target == source &&
         (!mount.read_only || check_read_only(source));
}

/// Folders before those below them.
std::vector<size_t> by_depth(const std::vector<Mount>& mounts) {
  std::vector<size_t> order(mounts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](size_t at) { return std::ranges::count(mounts[at].target, '/'); });
  return order;
}

/// The folder of the process, which may lie below a new mount.
void enter_again(const std::string& folder) {
  // Tasks have a folder of their own, so the agent can do without.
  if (folder.empty() || ::chdir(folder.c_str()) != 0) {
    [[maybe_unused]] const int at_root = ::chdir("/");
  }
}

Result<> make_target(MissingFolders& missing, const std::string& target, bool is_root) {
  const int fault = folder_fault(target);
  if (fault == 0) return {};
  if (fault != ENOENT) {
    return fail(Errc::input, format("cannot mount at {}: {}", shell_quote(printable(target)),
                                    errno_text(fault)));
  }
  std::string why = "only root makes it for the time of a job";
  if (is_root) {
    const auto made = missing.make(target);
    if (made) return {};
    why = made.error().message;
  }
  return fail(Errc::input,
              format("cannot mount at {}, which does not exist ({}); make it: mkdir -p {}",
                     shell_quote(printable(target)), why, shell_quote(printable(target))));
}

/// Adds what the user can do where no namespace can be made.
Error without_namespace(Error error, const Mount& mount, const std::string& source) {
  if (error.code == Errc::unsupported && mount.command.empty()) {
    error.message += format(". Without them a mount's target must be the place of its source: {}",
                            printable(mount_text({source, source, mount.read_only, {}})));
  }
  error.code = Errc::input;
  return error;
}

}  // namespace

Result<std::vector<std::string>> find_sources(const std::vector<Mount>& mounts) {
  std::vector<std::string> sources;
  for (const Mount& mount : mounts) {
    if (!mount.command.empty()) {
      sources.emplace_back();
      continue;
    }
    const bool is_export = mount.source.starts_with(nfs_scheme);
    std::string source = TRY(is_export ? find_export(mount) : plain_path(mount.source));
    TRY(check_folder(source, mount));
    sources.push_back(std::move(source));
  }
  return sources;
}

HostMounts::~HostMounts() {
  connection_.reset();
  if (service_) service_->wait(end_patience);
}

void HostMounts::set_up(MountOrder order, Done done) {
  if (result_) return done(*result_);
  order_ = std::move(order);
  on_set_up_ = std::move(done);
  auto sources = find_sources(order_.mounts);
  if (!sources) return finish(tl::unexpected(sources.error()));
  sources_ = *std::move(sources);
  const auto started = start_commands();
  if (!started) return finish(tl::unexpected(started.error()));
  if (!*started) finish(put_in_place());
}

/// Makes an empty folder for each command, in a private one.
Result<std::vector<MountCommand>> HostMounts::make_places() {
  std::error_code failed;
  std::string base =
      (std::filesystem::temp_directory_path(failed) / "dtrain-mounts-XXXXXX").string();
  if (failed || ::mkdtemp(base.data()) == nullptr)
    return fail_errno("cannot make a folder for the mounts of commands");
  std::vector<MountCommand> commands;
  for (size_t at = 0; at < order_.mounts.size(); ++at) {
    if (order_.mounts[at].command.empty()) continue;
    sources_[at] = format("{}/{}", base, at);
    if (::mkdir(sources_[at].c_str(), S_IRWXU) != 0)
      return fail_errno(format("cannot make {}", sources_[at]));
    commands.push_back({.line = order_.mounts[at].command,
                        .folder = sources_[at],
                        .target = order_.mounts[at].target});
  }
  return commands;
}

/// Returns false where no mount has a command.
Result<bool> HostMounts::start_commands() {
  const bool any =
      std::ranges::any_of(order_.mounts, [](const Mount& m) { return !m.command.empty(); });
  if (!any) return false;
  // Root's commands mount where the host does not see it.
  is_root_ = TRY(enter_root_namespace());
  const std::vector<MountCommand> commands = TRY(make_places());
  SocketPair pair = TRY(make_socketpair());
  TRY(set_nonblocking(pair.ours.get()));
  std::vector<Fd> its;
  its.push_back(std::move(pair.theirs));
  ForkedService started = TRY(ForkedService::start(
      "dtrain-mounts", std::move(its), [&commands, this](std::vector<Fd> kept) {
        serve_mount_commands(std::move(kept[0]), commands, order_.patience);
      }));
  service_.emplace(std::move(started));
  connection_ =
      TRY(Stream::open(loop_, std::move(pair.ours), Fd(),
                       {.on_bytes = [this](ByteSpan bytes) { return receive(bytes); },
                        .on_end = [this](const std::optional<Error>&) { commands_ended(); },
                        .on_drained = {}}));
  return true;
}

size_t HostMounts::receive(ByteSpan bytes) {
  const auto answer = decode_mounts_answer(bytes);
  if (!answer || result_) return 0;
  finish(*answer ? put_in_place() : *answer);
  return bytes.size();
}

void HostMounts::commands_ended() {
  end_timer_ = Timer();
  connection_.reset();
  if (on_set_up_)
    finish(fail(Errc::input, "the process that runs the commands of mounts has ended"));
  if (on_ended_) std::exchange(on_ended_, nullptr)();
}

void HostMounts::finish(const Result<>& result) {
  result_ = result;
  if (const Done done = std::exchange(on_set_up_, nullptr)) done(result);
}

/// After commands, this is a second namespace: the first one stays as they need it.
Result<> HostMounts::enter_namespace() {
  is_root_ = TRY(enter_root_namespace());
  return is_root_ ? Result<>() : enter_user_namespace();
}

Result<> HostMounts::put_in_place() {
  const std::vector<size_t> order = by_depth(order_.mounts);
  const auto first = std::ranges::find_if(
      order, [this](size_t at) { return !is_there(order_.mounts[at], sources_[at]); });
  if (first == order.end()) return {};
  std::error_code ignored;
  const std::string folder = std::filesystem::current_path(ignored).string();
  if (const auto entered = enter_namespace(); !entered) {
    return tl::unexpected(
        without_namespace(entered.error(), order_.mounts[*first], sources_[*first]));
  }
  std::vector<HeldFolder> held;
  for (const std::string& source : sources_) {
    HeldFolder folder_there = TRY(HeldFolder::open(source));
    held.push_back(std::move(folder_there));
  }
  MissingFolders missing(order_.folder);
  for (const size_t at : order) {
    const Mount& mount = order_.mounts[at];
    TRY(make_target(missing, mount.target, is_root_));
    TRY(held[at].mount_at(mount.target));
    if (mount.read_only) TRY(make_read_only(mount.target));
  }
  TRY(missing.seal());
  for (const Mount& mount : order_.mounts)
    if (mount.read_only) TRY(check_read_only(mount.target));
  enter_again(folder);
  return {};
}

void HostMounts::end(std::function<void()> done) {
  if (!connection_) return done();
  on_ended_ = std::move(done);
  connection_->close_after_sending();
  end_timer_ = loop_.after(end_patience, [this] { commands_ended(); });
}

std::vector<pid_t> HostMounts::processes() const {
  return service_ ? std::vector<pid_t>{service_->pid()} : std::vector<pid_t>();
}

}  // namespace dt
