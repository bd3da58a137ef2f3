#pragma once

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/loop.h"
#include "launcher/sync/server/sync_server.h"
#include "tests/sim/job/virtual_loop.h"
#include "tests/sim/sync/sync_host.h"
#include "tests/sim/sync/sync_plan.h"
#include "tests/sim/sync/sync_scene.h"

#include <malloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// A tree that goes to many hosts in virtual time, and these promises:
///
///   `each_has_tree`   A host that does not fail has the whole tree, and is reported once.
///   `each_is_named`   A host that fails is reported once, with its own reason.
///   `once_a_group`    One host of those that share a folder gets the tree, and one runs the setup.
///                     Another one begins only after a failure, and gets no content again.
///   `no_delay`        A host whose group has no failure is ready in time.
///   `ends`            The server closes all trees in time, also in the middle.
class SyncWorld {
 public:
  SyncWorld(uint64_t seed, SyncPlan plan, const SyncedTree& tree)
      : plan_(std::move(plan)), scene_(seed, tree) {
    if (plan_.sets_up) scene_.tree.setup = SetUpOrder{.commands = {"true"}, .timeout = seconds(60)};
    if (plan_.has_target) scene_.tree.place.target = "place";
    scene_.trees.resize(plan_.trees);
    scene_.stores.resize(plan_.stores);
    hosts_loop_ = VirtualLoop::create(scene_.time, {}).value();
    loop_ = VirtualLoop::create(scene_.time, [this](Time until) { return idle(until); }).value();
    for (const SyncHostPlan& host : plan_.hosts)
      hosts_.push_back(std::make_unique<SimulatedSyncHost>(scene_, *hosts_loop_, host));
    for (const auto& host : hosts_)
      host->set_rivals([this](const SimulatedSyncHost& self) { return rival(self, Group::tree); },
                       [this](const SimulatedSyncHost& self) { return rival(self, Group::setup); });
  }

  void run() {
    began_ = scene_.time.now;
    server_ = std::make_unique<SyncServer>(
        *loop_, scene_.tree,
        SyncServer::Options{.silence_max = silence_max, .receivers_max = plan_.receivers_max},
        [this](SyncEvent event, uint32_t host, ByteSpan payload) { take(event, host, payload); });
    add_hosts();
    plan_pauses();
    const Time end = began_ + plan_.interrupted.value_or(std::chrono::hours(24));
    while (!has_settled() && loop_->now() < end)
      if (!loop_->run_once(end)) break;
    if (!has_settled() && !plan_.interrupted) scene_.complain(0, "the server never ends");
    finish();
    judge();
  }
  const std::string& complaint() const { return scene_.complaint; }
  size_t ready() const { return scene_.ready.size(); }
  size_t failed() const { return scene_.failures.size(); }
  /// When hosts were reported to have failed, since the start.
  const std::vector<Duration>& failed_after() const { return failed_after_; }
  /// From now on, finds memory_peak(): the most memory of this process, above that of now. Silent
  /// hosts hold theirs for 30 s. A sanitizer's allocator counts none.
  void measure_memory() { measure(); }
  size_t memory_peak() const { return memory_peak_; }

 private:
  enum class Group : uint8_t { tree, setup };
  static constexpr Duration silence_max = seconds(30);
  /// Two silent hosts may delay each step of all: until they have put their markers, and until they
  /// have seen those of others. Then come the transfer, and two works of 40 s in a group.
  static constexpr Duration ready_max = seconds(300);

  static size_t memory() {
    const auto use = ::mallinfo2();
    return use.uordblks + use.hblkhd;
  }

  bool idle(Time until) {
    if (hosts_loop_->turn()) return true;
    const Time next = std::min(until, hosts_loop_->next_timer());
    if (next == Time::max()) return false;
    scene_.time.now = std::max(scene_.time.now, next);
    hosts_loop_->turn();
    return true;
  }

  void measure() {
    const size_t now = memory();
    if (memory_at_start_ == 0) memory_at_start_ = now;
    memory_peak_ = std::max(memory_peak_, now - std::min(now, memory_at_start_));
    measuring_ = hosts_loop_->after(seconds(1), [this] { measure(); });
  }

  void add_hosts() {
    for (const auto& host : hosts_) {
      if (host->plan().added == Duration::zero())
        add(*host);
      else
        timers_.push_back(loop_->after(host->plan().added, [this, &added = *host] {
          if (is_finishing_) return;
          add(added);
          start();
        }));
    }
    start();
  }

  void start() {
    started_ = loop_->now();
    server_->start();
  }

  void add(SimulatedSyncHost& host) {
    SocketPair pair = make_socketpair().value();
    host.connect(std::move(pair.theirs));
    server_->add({.id = host.plan().id,
                  .name = format("node{}", host.plan().id),
                  .here = host.plan().original,
                  .original = host.plan().original},
                 std::move(pair.ours));
  }

  void plan_pauses() {
    for (const Duration at : plan_.pauses) {
      timers_.push_back(loop_->after(at, [this] { server_->pause(); }));
      timers_.push_back(loop_->after(at + seconds(5), [this] { server_->resume(); }));
    }
  }

  void take(SyncEvent event, uint32_t host, ByteSpan payload) {
    const bool is_end = event == SyncEvent::ready || event == SyncEvent::host_failed;
    if (is_end && (scene_.ready.contains(host) || scene_.failures.contains(host)))
      scene_.complain(host, "is reported twice");
    if (event == SyncEvent::ready) {
      scene_.ready[host] = decode_host_tree(payload).value();
      ready_at_[host] = loop_->now();
    }
    if (event == SyncEvent::host_failed) {
      scene_.failures[host] = as_text(payload);
      failed_after_.push_back(loop_->now() - began_);
    }
    if (event == SyncEvent::failed) scene_.complain(host, "the whole sync fails");
    if (event == SyncEvent::finished && std::exchange(is_finished_, true))
      scene_.complain(host, "the server ends twice");
  }

  bool has_settled() const {
    return !scene_.complaint.empty() ||
           scene_.ready.size() + scene_.failures.size() == hosts_.size();
  }

  /// Hosts that are silent now are waited for, as in the transfer. After a pause that begins anew.
  void finish() {
    is_finishing_ = true;
    server_->finish(nullptr, no_host);
    const auto waits = static_cast<int>(1 + plan_.pauses.size());
    const Time end = loop_->now() + waits * (silence_max + seconds(10));
    while (!is_finished_ && loop_->now() < end)
      if (!loop_->run_once(end)) break;
    if (!is_finished_) scene_.complain(0, "the server does not close the trees");
    server_.reset();
    const Time left = scene_.time.now + seconds(100);
    while (scene_.time.now < left && idle(left))
      continue;
    for (const auto& host : hosts_)
      if (host->is_added() && !host->is_struck() && !host->is_gone())
        scene_.complain(host->plan().id, "is not closed");
  }

  /// Returns a host that shares the folder, and works or has worked there without a failure that
  /// the server knows.
  const SimulatedSyncHost* rival(const SimulatedSyncHost& self, Group group) const {
    const auto found = std::ranges::find_if(hosts_, [&](const auto& host) {
      const bool shares = group == Group::tree
                              ? !host->plan().original && host->plan().tree == self.plan().tree
                              : host->plan().store == self.plan().store;
      const bool works = group == Group::tree ? host->builds_tree() : host->sets_up();
      return host.get() != &self && shares && works && !scene_.failures.contains(host->plan().id) &&
             !(host->is_struck() && host->is_done());
    });
    return found == hosts_.end() ? nullptr : found->get();
  }

  void judge() {
    for (const auto& host : hosts_) {
      if (!plan_.interrupted || scene_.ready.contains(host->plan().id)) judge_tree(*host);
      if (host->is_struck()) judge_failure(*host);
    }
  }

  void judge_tree(const SimulatedSyncHost& host) {
    const uint32_t id = host.plan().id;
    const auto ready = scene_.ready.find(id);
    if (ready == scene_.ready.end()) {
      if (!host.is_struck())
        scene_.complain(id, "does not fail, and has no tree: " + scene_.failures[id]);
      return;
    }
    if (!host.is_done()) scene_.complain(id, "is reported before it has its tree");
    if (ready->second.folder != host.folder()) scene_.complain(id, "has its tree elsewhere");
    if (!host.plan().original && !scene_.trees[host.plan().tree].is_whole)
      scene_.complain(id, "has no whole tree");
    if (!host.is_struck() && ready->second.files_sent != host.files_received())
      scene_.complain(id, "has got another number of files");
    // Where hosts wait for their turn, the failures of others take time, too.
    if (plan_.receivers_max >= hosts_.size() && !has_failure_in_group(host) &&
        ready_at_[id] - started_ > ready_max)
      scene_.complain(id, "is ready too late, without a failure in its group");
  }

  bool has_failure_in_group(const SimulatedSyncHost& host) const {
    return std::ranges::any_of(hosts_, [&host](const auto& other) {
      return other->plan().fate.kind != SyncFate::Kind::none &&
             (other->plan().tree == host.plan().tree || other->plan().store == host.plan().store);
    });
  }

  void judge_failure(const SimulatedSyncHost& host) {
    const uint32_t id = host.plan().id;
    const auto failure = scene_.failures.find(id);
    if (failure == scene_.failures.end()) {
      // Interrupted before it was found, or it has failed after its start.
      if (!host.is_done() && !plan_.interrupted) scene_.complain(id, "fails, and is not reported");
      return;
    }
    const auto names = [&](std::string_view text) {
      return failure->second.find(text) != std::string::npos;
    };
    bool is_right = false;
    switch (host.plan().fate.kind) {
      case SyncFate::Kind::none:
        break;
      case SyncFate::Kind::closes:
        is_right = names("its process for --sync has ended");
        break;
      case SyncFate::Kind::silent:
        is_right = names("nothing has come from it for 30s") || names("its setup has not ended");
        break;
      case SyncFate::Kind::full:
        is_right = names("no space left on device");
        break;
      case SyncFate::Kind::confused:
        is_right = names("unknown message") || names("frame");
        break;
    }
    if (!is_right) scene_.complain(id, "is reported with a wrong reason: " + failure->second);
  }

  SyncPlan plan_;
  SyncScene scene_;
  std::unique_ptr<VirtualLoop> hosts_loop_;
  std::unique_ptr<VirtualLoop> loop_;
  std::vector<std::unique_ptr<SimulatedSyncHost>> hosts_;
  std::unique_ptr<SyncServer> server_;
  std::vector<Timer> timers_;
  Timer measuring_;
  Time began_;
  Time started_;
  std::map<uint32_t, Time> ready_at_;
  std::vector<Duration> failed_after_;
  size_t memory_at_start_ = 0;
  size_t memory_peak_ = 0;
  bool is_finishing_ = false;
  bool is_finished_ = false;
};

}  // namespace dt
