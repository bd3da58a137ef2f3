#include "launcher/process/sweep.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"
#include "launcher/process/pidfd.h"
#include "launcher/process/process_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>

namespace dt {

namespace {

constexpr Duration scan_interval = milliseconds(20);
constexpr Duration sweep_kill_patience = seconds(3);
std::map<pid_t, ProcessStat> read_processes() {
  std::map<pid_t, ProcessStat> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return all;
  // readdir(3) on a stream of our own is safe; no other thread sees it.
  while (const dirent* entry = readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe)
    const auto pid = parse_integer(entry->d_name);
    if (!pid) continue;
    const auto number = static_cast<pid_t>(*pid);
    if (auto process = read_process_stat(number)) all[number] = *std::move(process);
  }
  return all;
}

/// Returns an ended child without collecting its status; 0: there is none.
pid_t ended_child() {
  siginfo_t info = {};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : 0;
}

}  // namespace

std::vector<Stray> find_descendants(const std::vector<pid_t>& spared) {
  const std::map<pid_t, ProcessStat> processes = read_processes();
  std::multimap<pid_t, pid_t> children;
  for (const auto& [pid, process] : processes)
    children.emplace(process.parent, pid);
  std::vector<pid_t> family = {getpid()};
  std::vector<Stray> strays;
  for (size_t at = 0; at < family.size(); ++at) {
    const auto [first, last] = children.equal_range(family[at]);
    for (auto child = first; child != last; ++child) {
      const pid_t pid = child->second;
      if (std::ranges::find(spared, pid) != spared.end()) continue;
      family.push_back(pid);
      if (!processes.at(pid).ended()) strays.push_back({pid, family[at], processes.at(pid).name});
    }
  }
  return strays;
}

bool signal_stray(const Stray& stray, std::initializer_list<int> numbers) {
  const Fd process = open_pidfd(stray.pid);
  if (!process && errno == ESRCH) return false;
  // Read after the descriptor was opened, so that both are the same process unless that has ended.
  // This process inherits orphans. The next scan finds one that another process inherited.
  const auto now = read_process_stat(stray.pid);
  if (!now || (now->parent != stray.parent && now->parent != getpid())) return false;
  const auto send = [&](int number) {
    // By its pid only where the kernel refuses to open a pidfd.
    return process ? signal_pidfd(process.get(), number) : ::kill(stray.pid, number) == 0;
  };
  return std::ranges::count_if(numbers, send) > 0;
}

void signal_catching_descendants(int number) {
  for (const Stray& process : find_descendants()) {
    // A stopped process could not act on the signal.
    if (catches_signal(process.pid, number)) signal_stray(process, {number, SIGCONT});
  }
}

std::vector<pid_t> existing_children() {
  std::vector<pid_t> children;
  if (!has_children()) return children;
  for (const auto& [pid, process] : read_processes()) {
    if (process.parent == getpid()) children.push_back(pid);
  }
  return children;
}

void become_subreaper() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void reap_strangers(const std::function<bool(pid_t)>& ours) {
  // WNOWAIT first, then waitpid: the status of our own children must stay for their owner.
  pid_t ended = ended_child();
  // Ends at a child that cannot be collected, as a container may decide. waitid would return the
  // same child each time.
  while (ended != 0 && !ours(ended) && waitpid(ended, nullptr, WNOHANG) == ended)
    ended = ended_child();
}

bool reap_group(pid_t group) {
  pid_t ended = 0;
  do {
    ended = waitpid(-group, nullptr, WNOHANG);
  } while (ended > 0);
  return ended < 0;
}

bool has_children() {
  siginfo_t info = {};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

Sweep::Sweep(Loop& loop, Options options, std::function<void(Report)> on_done)
    : loop_(loop),
      options_(std::move(options)),
      kill_at_(loop_.now() + options_.patience),
      report_at_(kill_at_ + sweep_kill_patience),
      on_done_(std::move(on_done)) {
  scan();
}

void Sweep::hurry(Duration patience) {
  kill_at_ = std::min(kill_at_, loop_.now() + patience);
  report_at_ = std::min(report_at_, kill_at_ + sweep_kill_patience);
}

void Sweep::scan() {
  reap_strangers(options_.ours);
  Report report = {.ended = static_cast<int>(signalled_.size())};
  if (!has_children()) {
    end(std::move(report));
    return;
  }
  const Time now = loop_.now();
  const std::vector<Stray> strays = find_descendants(options_.spared);
  // An ended child that is not spared keeps the sweep open until its owner collects the status.
  const bool only_spared = strays.empty() && !options_.spared.empty() && ended_child() == 0;
  if (now >= report_at_ || only_spared) {
    for (const Stray& stray : strays) {
      report.unkillable.push_back(format("{} (pid {})", printable(stray.name), stray.pid));
    }
    end(std::move(report));
    return;
  }
  if (now >= kill_at_ && options_.kill_all) options_.kill_all();
  for (const Stray& stray : strays) {
    const bool signalled = std::ranges::find(signalled_, stray.pid) != signalled_.end();
    if (signalled && now < kill_at_) continue;
    // A stopped process handles its SIGTERM only after SIGCONT.
    const bool sent =
        now >= kill_at_ ? signal_stray(stray, {SIGKILL}) : signal_stray(stray, {SIGTERM, SIGCONT});
    if (sent && !signalled) signalled_.push_back(stray.pid);
  }
  timer_ = loop_.after(scan_interval, [this] { scan(); });
}

void Sweep::end(Report report) {
  // A copy: the callback may destroy this object.
  const auto on_done = on_done_;
  on_done(std::move(report));
}

}  // namespace dt
