#pragma once

#include "base/format.h"
#include "comm/engine/engine.h"
#include "tests/sim/plan.h"
#include "tests/sim/virtual_link.h"
#include "tests/unit/comm/memory/heap_area.h"
#include "tests/unit/comm/memory/heap_pool.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// Runs a plan in virtual time and checks the outcome of every operation. `complaint` has the
/// first broken promise.
class EngineWorld {
 public:
  explicit EngineWorld(uint64_t seed);
  void run();
  const std::string& complaint() const { return complaint_; }
  /// True when all ranks were idle at once, and have been judged then.
  bool rested() const { return rested_; }

 private:
  struct Running {
    size_t call = 0;
    std::shared_ptr<Operation> operation;
    std::unique_ptr<Bytes> input;
    std::unique_ptr<Bytes> output;
  };
  struct Rank {
    std::unique_ptr<Engine> engine;
    size_t next_action = 0;
    std::vector<bool> in_group;  ///< by group: this rank has created it and not left it
    Time next_submit = {};
    std::vector<Running> running;
    bool alive = true;
    Time last_notice = {};  ///< arrival of the last one; notices keep their order
    std::optional<Time> finished;
    std::optional<Time> closing;  ///< it has finalized, and sends what is queued until then
  };

  Rank& rank(int number) { return ranks_[static_cast<size_t>(number)]; }
  Wire& wire(int from, int to) { return *wires_[{from, to}]; }
  const Call& call_of(const Running& running) const { return plan_.program.calls[running.call]; }
  const SimGroup& group_of(const Call& call) const { return plan_.groups[call.group]; }
  void connect();
  std::unique_ptr<Session> session(int self, int other) const;
  void at(Time when, std::function<void()> event) { events_.emplace(when, std::move(event)); }
  void schedule_fault();
  void strike();
  void end_task(int number, Notice::Kind kind);
  void end_links(int number);
  void notify_others(int number, Notice::Kind kind);
  void leave(int number);
  bool step_closing(int number);
  bool run_events();
  bool step_user(int number);
  void create_group(int number, size_t index);
  void leave_group(int number, size_t index);
  void submit(int number, size_t call);
  Duration timeout_of(int number, size_t group);
  bool collect(int number);
  void maybe_leave(int number);
  bool all_ranks_finished() const;
  bool at_rest() const;
  void rest();
  size_t bytes_sent() const;
  Time next_time() const;

  void judge(int number, const Running& running);
  void judge_success(int number, const Running& running);
  void judge_join(int number, const Running& running);
  void judge_failure(int number, const Running& running);
  void judge_mismatch(int number, const Running& running);
  void complain(int number, const Running& running, const std::string& what);

  uint64_t seed_;
  Random random_;
  SimPlan plan_;
  Time now_ = Time(seconds(1000));
  std::map<std::pair<int, int>, std::shared_ptr<Wire>> wires_;
  std::vector<Rank> ranks_;
  std::multimap<Time, std::function<void()>> events_;
  /// The first result of each rough call; for reduce_scatter, that of each rank's part.
  std::map<std::pair<size_t, int>, Bytes> rough_results_;
  std::map<size_t, std::string> mismatch_texts_;
  std::map<size_t, Bytes> last_joined_;        ///< the first result of each join
  std::map<size_t, std::vector<int>> places_;  ///< of the members of each group in its memory
  bool left_ = false;  ///< the victim leaves its group now, or as soon as it has created it
  bool rested_ = false;
  std::string complaint_;
};

}  // namespace dt
