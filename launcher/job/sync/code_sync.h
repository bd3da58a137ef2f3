#pragma once

#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/io/stream.h"
#include "base/result.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/line_tagger.h"
#include "launcher/console/sink.h"
#include "launcher/plan/plan.h"
#include "launcher/report/job_record.h"
#include "launcher/sync/forked_service.h"
#include "launcher/sync/server/sync_events.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dt {

/// The launcher's part of --sync: its sync process has the tree and sends it; this connects it to
/// the hosts, and knows which of them have the tree.
class CodeSync {
 public:
  struct Dependencies {
    Loop& loop;
    Log& log;
    AgentGroup& agents;
    Sink& output;  ///< for lines of setup commands
  };
  struct Options {
    bool copies = true;        ///< hosts get a copy of the tree; false: tasks use their own folder
    bool copies_here = false;  ///< so does this machine
    bool sets_up = false;      ///< setup commands run on each host
    bool quiet = false;        ///< their output is not printed
  };
  /// Runs in the sync process. Receives orders (SyncOrder) as packets, and sends events
  /// (SyncEvent) as frames.
  using Serve = std::function<void(Fd orders, Fd events)>;
  /// Starts the sync process.
  static Result<std::unique_ptr<CodeSync>> start(Dependencies parts, const Serve& serve,
                                                 const Options& options);
  CodeSync(const CodeSync&) = delete;
  CodeSync& operator=(const CodeSync&) = delete;
  /// Ends the sync process, which removes what it has made here.
  ~CodeSync();

  /// Gives the tree to the plan's hosts that have none. Returns before they have it.
  Result<> give(const Plan& plan);
  /// Waits until each host of the plan has the tree, has failed or is lost. After has_failed() it
  /// waits only some seconds more. Fails with Errc::input
  /// when no host can have it, and with Errc::interrupted or Errc::timeout.
  Result<> wait(const Plan& plan, const AgentGroup::Awaited& awaited);
  /// Returns the tree of each host of the plan, by agent; an empty one where it has failed.
  std::vector<HostTree> trees(const Plan& plan) const;
  /// True if a host with tasks has failed.
  bool has_failed(const Plan& plan) const;
  /// Returns why hosts have no tree, by agent; empty for one that has it.
  std::vector<std::string> failures(const Plan& plan) const;
  /// Returns the tree and the hosts that have got it. Requires facts().
  SyncRecord record() const;
  /// None until the first wait() has ended.
  const std::optional<TreeFacts>& facts() const { return facts_; }
  /// Fetches the files of --fetch from the host of rank 0, and has all hosts close their trees,
  /// until the deadline. Null: no task has run, and nothing is fetched.
  Result<> finish(const Plan* plan, const AgentGroup::Awaited& awaited);
  pid_t pid() const { return process_.pid(); }

 private:
  /// A host to which the tree was given.
  struct Site {
    uint32_t id = 0;
    Host host;
    Fd connection = {};  ///< until the sync process has it
    std::optional<HostTree> tree = {};
    std::string why = {};  ///< it has failed
    LineTagger output;     ///< of its setup commands
  };
  CodeSync(Dependencies parts, ForkedService process, Fd orders, const Options& options)
      : parts_(parts),
        options_(options),
        process_(std::move(process)),
        orders_(std::move(orders)) {}
  size_t receive(ByteSpan bytes);
  Result<> handle(const FrameView& frame);
  void ended();
  Result<> send_hosts();
  Result<> send_order(SyncOrder order, ByteSpan payload = {}, Fd descriptor = {});
  uint32_t first_host(const Plan& plan) const;
  const Site* find(const Host& host) const;
  Site* find(uint32_t id);
  bool is_settled(size_t agent, const Host& host) const;
  bool uses_original(const Host& host) const {
    return !options_.copies || (host.here && !options_.copies_here);
  }
  void end_output(Site& site);
  void print(std::string lines);

  Dependencies parts_;
  Options options_;
  ForkedService process_;
  Fd orders_;
  std::unique_ptr<Stream> events_;
  std::optional<TreeFacts> facts_;
  std::optional<Error> failure_;  ///< no host can have the tree
  std::vector<Site> sites_;       ///< the later of two of a host counts
  bool finished_ = false;
  size_t unwritten_ = 0;  ///< bytes of output that the console has not taken
  bool paused_ = false;   ///< events are not read
};

}  // namespace dt
