// A worker that makes random calls in random groups, and judges how each of them ends.
//
//    random_worker SEED FOLDER
//
// All ranks make the same plan from the seed. One of them may die or leave. On the others, each
// call must have the right result, an error that names that rank, or the planned mismatch. A rank
// prints a line that begins with "fault:" when a call ends otherwise, or not within 30 s. It writes
// the outcomes of its calls to FOLDER/rank.N, which tests/cli/outcomes.py compares.
#include "tests/programs/executed_call.h"
#include "tests/programs/random_plan.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

namespace dt {
namespace {

constexpr int call_limit_ms = 30'000;

dtrain_error no_error() {
  dtrain_error error = {};
  error.struct_size = sizeof error;
  error.rank = -1;
  return error;
}

/// A call that was made.
struct Made {
  size_t index = 0;  ///< in the program of its phase
  std::unique_ptr<ExecutedCall> call;
  int status = DTRAIN_PENDING;
  dtrain_error error = no_error();
};

class RandomWorker {
 public:
  RandomWorker(uint64_t seed, dtrain_context* world, const std::string& folder)
      : plan_(seed, dtrain_size(world)),
        rank_(dtrain_rank(world)),
        random_(seed * 1'000 + static_cast<uint64_t>(rank_)),
        outcomes_(folder + "/rank." + std::to_string(rank_)),
        contexts_{world} {}

  /// Returns false when a call has ended in a wrong way.
  bool run();

 private:
  using Kind = RandomFault::Kind;

  void create(const GroupCreation& creation);
  void execute(const RandomPhase& phase);
  Made make(const RandomPhase& phase, size_t index);
  void finish(const RandomPhase& phase, Made& made);
  void judge(const Call& call, Made& made);
  void judge_loss(const Call& call, const dtrain_error& error);
  void end_if_due(size_t action);
  void leave();
  bool victim_takes_part(const Call& call) const;
  void record(size_t group, size_t index, std::string_view kind, int status);
  void complain(const std::string& what);
  bool is_victim() const { return plan_.fault().victim == rank_; }

  RandomPlan plan_;
  int rank_;
  Random random_;
  std::ofstream outcomes_;
  std::vector<dtrain_context*> contexts_;  ///< by group; null where this rank is no member
  std::vector<Made> started_;
  int phase_ = 0;
  std::string label_;  ///< of the call that is judged
  bool good_ = true;
};

void RandomWorker::complain(const std::string& what) {
  std::cerr << "fault: rank " << rank_ << ", phase " << phase_ << ", " << label_ << ": " << what
            << std::endl;
  good_ = false;
}

void RandomWorker::record(size_t group, size_t index, std::string_view kind, int status) {
  outcomes_ << group << ' ' << phase_ << ' ' << index << ' ' << kind << ' ' << status << std::endl;
}

void RandomWorker::leave() {
  for (size_t group = contexts_.size(); group-- > 0;)
    dtrain_finalize(contexts_[group]);
  _exit(0);
}

void RandomWorker::end_if_due(size_t action) {
  const RandomFault& fault = plan_.fault();
  if (!is_victim() || fault.phase != phase_ || fault.action != action) return;
  if (fault.kind == Kind::kill) std::raise(SIGKILL);
  if (fault.kind == Kind::exit) _exit(3);
  if (fault.kind == Kind::leave) leave();
}

bool RandomWorker::run() {
  const RandomFault& fault = plan_.fault();
  for (phase_ = 0; phase_ < plan_.phases(); ++phase_) {
    if (is_victim() && fault.kind == Kind::timed_kill && fault.phase == phase_)
      std::thread([delay = fault.delay_us] {
        std::this_thread::sleep_for(std::chrono::microseconds(delay));
        std::raise(SIGKILL);
      }).detach();
    const RandomPhase phase = plan_.next();
    if (phase.creation) create(*phase.creation);
    contexts_.resize(plan_.groups().size());
    execute(phase);
  }
  outcomes_ << "end" << std::endl;
  for (size_t group = contexts_.size(); group-- > 0;)
    dtrain_finalize(contexts_[group]);
  return good_;
}

void RandomWorker::create(const GroupCreation& creation) {
  const size_t first = contexts_.size();
  const SimGroup& parent = plan_.groups()[creation.parent];
  const int self = parent.rank_of(rank_);
  contexts_.resize(plan_.groups().size());
  dtrain_context* const from = contexts_[creation.parent];
  if (self < 0 || from == nullptr) return;
  dtrain_context* made = nullptr;
  dtrain_error error = no_error();
  const dtrain_part part{
      .color = creation.by_split ? creation.colors[static_cast<size_t>(self)] : 0, .key = 0};
  const dtrain_rank_list list{.ranks = creation.members.data(),
                              .count = static_cast<int>(creation.members.size())};
  const int status = creation.by_split ? dtrain_split(from, part, &made, nullptr, &error)
                                       : dtrain_group(from, list, &made, nullptr, &error);
  record(creation.parent, 0, creation.by_split ? "split" : "group", status);
  label_ = "a new group of group " + std::to_string(creation.parent);
  if (status != DTRAIN_OK) return judge_loss({.group = creation.parent}, error);
  bool placed = made == nullptr;
  for (size_t group = first; group < contexts_.size() && !placed; ++group) {
    const SimGroup& members = plan_.groups()[group];
    placed = members.has(rank_) && dtrain_rank(made) == members.rank_of(rank_) &&
             dtrain_size(made) == members.size();
    if (placed) contexts_[group] = made;
  }
  if (!placed) complain("has other members than planned");
}

Made RandomWorker::make(const RandomPhase& phase, size_t index) {
  const Call& planned = phase.program.calls[index];
  const SimGroup& group = plan_.groups()[planned.group];
  const GroupPlace self{.rank = group.rank_of(rank_), .size = group.size()};
  const Call call = planned.odd_rank == self.rank ? odd_call(planned, index) : planned;
  BufferPlacement placement = BufferPlacement::separate;
  if (random_.percent(50)) placement = static_cast<BufferPlacement>(random_.below(placement_count));
  if (!allows(call.kind, placement)) placement = BufferPlacement::separate;
  return {.index = index, .call = std::make_unique<ExecutedCall>(call, self, placement)};
}

void RandomWorker::execute(const RandomPhase& phase) {
  size_t count = 0;
  for (const Program::Action& action : phase.program.by_rank[static_cast<size_t>(rank_)]) {
    if (action.creates) continue;
    end_if_due(count++);
    dtrain_context* const context = contexts_[phase.program.calls[action.index].group];
    if (context == nullptr) continue;
    Made made = make(phase, action.index);
    if (phase.blocking) {
      made.status = made.call->run(context, made.error);
      finish(phase, made);
      continue;
    }
    if (!made.call->start(context, made.error)) made.status = made.error.code;
    started_.push_back(std::move(made));
  }
  if (plan_.fault().action >= count) end_if_due(plan_.fault().action);
  for (Made& made : started_)
    finish(phase, made);
  started_.clear();
}

void RandomWorker::finish(const RandomPhase& phase, Made& made) {
  const Call& call = phase.program.calls[made.index];
  label_ = std::string(kind_name(call.kind)) + ' ' + std::to_string(made.index) + " of group " +
           std::to_string(call.group);
  if (made.status == DTRAIN_PENDING) made.status = made.call->wait(call_limit_ms, made.error);
  if (made.status == DTRAIN_PENDING) {
    complain("hangs");
    _exit(9);
  }
  // Calls that match by name have no order, and nor has a join of theirs.
  const bool ordered = call.name.empty() && call.kind != OperationKind::join;
  if (!call.is_message() && ordered)
    record(call.group, made.index + 1, kind_name(call.kind), made.status);
  judge(call, made);
}

void RandomWorker::judge(const Call& call, Made& made) {
  if (made.status == DTRAIN_OK) {
    if (call.odd_rank >= 0) return complain("succeeds although one differs");
    if (call.needs_joined()) return complain("succeeds without a rank it needs");
    const std::string fault = made.call->fault();
    if (!fault.empty()) complain(fault);
    return;
  }
  const bool differs = call.odd_rank >= 0 || call.needs_joined();
  if (made.status == DTRAIN_ERROR_MISMATCH && differs) return;
  judge_loss(call, made.error);
}

bool RandomWorker::victim_takes_part(const Call& call) const {
  const int member = plan_.groups()[call.group].rank_of(plan_.fault().victim);
  return member >= 0 && (!call.is_message() || call.from == member || call.to == member);
}

/// Expects an error that names the victim, where its end concerns the call.
void RandomWorker::judge_loss(const Call& call, const dtrain_error& error) {
  const RandomFault& fault = plan_.fault();
  const std::string victim = "rank " + std::to_string(fault.victim) + " (host ";
  const bool concerned = fault.is_death() || (fault.kind == Kind::leave && victim_takes_part(call));
  if (error.code != DTRAIN_ERROR_PEER_LOST || !concerned || error.rank != fault.victim ||
      std::string_view(error.text).find(victim) == std::string_view::npos)
    complain("fails: " + std::string(error.text));
}

/// Ends a process whose calls block for too long.
void watch() {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(call_limit_ms + 10'000));
    std::cerr << "fault: hangs in a blocking call" << std::endl;
    _exit(9);
  }).detach();
}

int run(uint64_t seed, const std::string& folder) {
  dtrain_error error = no_error();
  dtrain_init_options options = {};
  options.struct_size = sizeof options;
  const char* size = std::getenv("DTRAIN_SIZE");
  const RandomPlan plan(seed, size == nullptr ? 1 : std::atoi(size));
  if (plan.tcp_only()) options.transport = DTRAIN_TRANSPORT_TCP;
  dtrain_context* world = dtrain_init(&options, &error);
  if (world == nullptr) {
    // A rank whose peers have all joined may die before they know that.
    const std::string victim = "rank " + std::to_string(plan.fault().victim) + " (";
    const bool named = std::string_view(error.text).find(victim) != std::string_view::npos;
    if (error.code == DTRAIN_ERROR_PEER_LOST && plan.fault().is_death() && named) return 0;
    std::cerr << "fault: " << error.text << std::endl;
    return 5;
  }
  watch();
  return RandomWorker(seed, world, folder).run() ? 0 : 4;
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return dt::run(static_cast<uint64_t>(std::atoll(argv[1])), argv[2]);
}
