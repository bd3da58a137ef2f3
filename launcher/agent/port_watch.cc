#include "launcher/agent/port_watch.h"

#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"
#include "launcher/process/sweep.h"
#include "launcher/process/tcp_listeners.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

namespace dt {

namespace {

namespace fs = std::filesystem;

constexpr size_t name_bytes_max = 64;

/// Returns the entries of a folder that may change meanwhile, or be closed to our user.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  return entries;
}

bool has_open(const fs::path& process, const std::string& socket) {
  return std::ranges::any_of(entries_of(process / "fd"), [&](const fs::path& fd) {
    std::error_code failed;
    return fs::read_symlink(fd, failed) == socket;
  });
}

/// Returns "python3 (pid 77)"; empty if our user may not see that process's files.
std::string process_of(const TcpListener& listener) {
  const std::string socket = format("socket:[{}]", listener.inode);
  for (const fs::path& process : entries_of("/proc")) {
    const std::string pid = process.filename();
    if (!parse_integer(pid) || !has_open(process, socket)) continue;
    const auto name = read_text_file(process / "comm", name_bytes_max);
    return format("{} (pid {})", name ? trim(*name) : "a process", pid);
  }
  return {};
}

std::set<uint32_t> users_below_us() {
  std::set<uint32_t> users;
  for (const Stray& process : find_descendants()) {
    struct stat status = {};
    if (::stat(format("/proc/{}", process.pid).c_str(), &status) == 0) users.insert(status.st_uid);
  }
  return users;
}

}  // namespace

PortWatch::PortWatch(Loop& loop, Terms terms, std::function<void(const PortTaken&)> on_taken)
    : loop_(loop),
      terms_(std::move(terms)),
      on_taken_(std::move(on_taken)),
      end_(loop.now() + terms_.lasts),
      timer_(loop.after(terms_.interval, [this] { check_again(); })) {
}

void PortWatch::check_again() {
  if (const auto taken = find_taken()) return on_taken_(*taken);
  if (loop_.now() < end_) timer_ = loop_.after(terms_.interval, [this] { check_again(); });
}

std::optional<PortTaken> PortWatch::find_taken() const {
  const auto listeners = tcp_listeners();
  if (!listeners) return std::nullopt;
  std::optional<std::set<uint32_t>> below;
  for (const TcpListener& listener : *listeners) {
    if (std::ranges::find(terms_.ports, listener.port) == terms_.ports.end()) continue;
    if (listener.uid == geteuid() || listener.uid == 0) continue;
    if (!below) below = users_below_us();
    if (below->contains(listener.uid)) continue;
    return PortTaken{.port = listener.port, .uid = listener.uid, .process = process_of(listener)};
  }
  return std::nullopt;
}

}  // namespace dt
