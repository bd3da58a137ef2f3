#pragma once

#include "base/format.h"
#include "comm/api/context.h"
#include "comm/api/init_options.h"
#include "comm/driver/driver.h"
#include "gpu/cpu/cpu_device.h"
#include "tests/sim/call_request.h"
#include "tests/sim/device_plan.h"
#include "tests/unit/rendezvous/fixture.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dt {

/// The state that the ranks of a run share.
class DeviceRun {
 public:
  explicit DeviceRun(const DevicePlan& chosen)
      : plan(chosen),
        server(table_of_workers(plan.size, plan.per_host)),
        others_ended(plan.size - 1) {}

  void complain(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (complaint_.empty()) complaint_ = format("seed {}: {}", plan.seed, what);
  }
  std::string complaint() {
    const std::lock_guard lock(mutex_);
    return complaint_;
  }
  /// True when all ranks so far have the same bytes of this result of a call.
  bool agrees(size_t call, int part, Bytes bytes) {
    const std::lock_guard lock(mutex_);
    const auto [first, is_first] = results_.try_emplace({call, part}, bytes);
    return first->second == bytes;
  }
  /// Called when a rank makes no more calls; may be called again.
  void note_end(int rank) {
    const std::lock_guard lock(mutex_);
    if (rank != plan.victim && ended_.insert(rank).second) others_ended.count_down();
  }

  const DevicePlan& plan;
  RendezvousFixture server;
  std::latch others_ended;                  ///< the ranks but the victim
  std::atomic<bool> nccl_executed = false;  ///< or was about to

 private:
  std::mutex mutex_;
  std::string complaint_;
  std::set<int> ended_;
  std::map<std::pair<size_t, int>, Bytes> results_;
};

/// One rank of a program on devices: a thread with a context and a device of its own. It makes its
/// calls without waiting for them, and judges each that has ended. As most programs, it ends with
/// the first error, but for a mismatch.
class ProgramRank {
 public:
  ProgramRank(DeviceRun& run, int rank)
      : run_(run),
        plan_(run.plan),
        rank_(rank),
        devices_(must(
            open_cpu_devices({.probe = [this](const ProbedCall& call) { return probe(call); }}))),
        stream_(must(devices_[0]->make_stream())) {}

  void perform() {
    if (!join()) return;
    if (plan_.may_use_nccl()) reach_nccl();
    armed_ = plan_.fault == DeviceFault::device && plan_.strikes(rank_);
    const auto& actions = plan_.program.by_rank[static_cast<size_t>(rank_)];
    for (size_t i = 0; i < actions.size() && !stopped_ && !ends_at(i); ++i) {
      start(actions[i].index);
      judge_ended();
    }
    end();
    run_.note_end(rank_);
    context_->finalize();
    judge_ended();
    for (const Running& running : running_)
      complain(running, "has not ended with its context");
  }

 private:
  /// Memory of the device, or of the host.
  struct Buffer {
    DeviceBuffer device = {};
    Bytes host = {};
    size_t bytes = 0;
    std::byte* at() { return device.at() != nullptr ? device.at() : host.data(); }
    std::span<const std::byte> span() { return {at(), bytes}; }
  };
  struct Running {
    size_t call = 0;
    Driver::Work work = {};
    OperationRequest request = {};
    Buffer input = {};
    Buffer output = {};  ///< not used in place
    Bytes before = {};   ///< of the output
    bool in_place = false;
    Buffer& result() { return in_place ? input : output; }
  };
  static constexpr std::byte unwritten{0x5a};

  /// Returns false when another rank ends before this one has joined.
  bool join() {
    auto joined = Context::join({.claim = run_.server.claim({"worker", rank_}),
                                 .rendezvous = run_.server.address(),
                                 .dead_after = seconds(60)});
    if (!joined && !may_fail_with(joined.error()))
      run_.complain(format("rank {} cannot join: {}", rank_, joined.error().message));
    if (joined) context_ = *std::move(joined);
    return context_ != nullptr;
  }

  /// A call of the device, by any of its threads.
  Result<> probe(const ProbedCall& call) {
    const size_t number = calls_++;
    if (call.runs && plan_.yields_max > 0) {
      for (size_t left = number * 7 % plan_.yields_max; left > 0; --left)
        std::this_thread::yield();
    }
    if (!armed_ || armed_calls_++ != plan_.fault_at) return {};
    return fail(Errc::os, "the seed breaks this device");
  }

  /// Sums until the ranks have decided how they run such calls.
  void reach_nccl() {
    // A connection that fails is noticed while calls are staged, in "auto" without an end.
    constexpr int sums_max = 300;
    const bool ends = plan_.fault == DeviceFault::nccl && plan_.collectives == "auto";
    for (int i = 0; !stopped_ && !context_->uses_nccl() && !(ends && i == sums_max); ++i) {
      auto memory = devices_[0]->allocate(64);
      if (!memory) return stop();
      std::fill_n(memory->at(), 64, std::byte{0});
      auto work = context_->start({.kind = OperationKind::all_reduce,
                                   .type = ElementType::int32,
                                   .count = 16,
                                   .input = memory->at(),
                                   .output = memory->at()});
      if (!work) return stop();
      while (!context_->uses_nccl() && !context_->driver().done(*work))
        (void)context_->driver().wait(*work, Clock::now() + milliseconds(1));
      if (context_->driver().done(*work)) {
        stopped_ = !context_->driver().wait(*work, Time::max())->has_value();
      } else {
        first_ = {*std::move(memory), *work};
      }
    }
    if (context_->uses_nccl()) run_.nccl_executed = true;
  }

  bool ends_at(size_t action) const {
    const bool ends = plan_.fault == DeviceFault::leave || plan_.fault == DeviceFault::death;
    return ends && plan_.strikes(rank_) && action == plan_.fault_at;
  }
  void stop() { stopped_ = true; }

  Result<Buffer> buffer(bool on_device, size_t bytes) const {
    Buffer made = {.bytes = bytes};
    if (on_device) {
      made.device = TRY(devices_[0]->allocate(bytes));
    } else {
      made.host.resize(bytes);
    }
    std::fill_n(made.at(), bytes, unwritten);
    return made;
  }

  void start(size_t index) {
    if (!try_start(index)) stop();
  }
  Result<> try_start(size_t index) {
    const Call& original = plan_.program.calls[index];
    const Call call = original.odd_rank == rank_ ? odd_call(original, index) : original;
    const bool on_device = plan_.on_device[index];
    const Bytes values = input_bytes(call, rank_, plan_.size);
    Running made = {.call = index};
    made.input = TRY(buffer(on_device, values.size()));
    std::copy(values.begin(), values.end(), made.input.at());
    made.output = TRY(buffer(on_device, output_count(call, plan_.size) * element_bytes(call.type)));
    made.in_place = may_be_in_place(call.kind) && index % 2 == 0;
    const auto before = made.result().span();
    made.before.assign(before.begin(), before.end());
    made.request = request_of(call, rank_, plan_.size, made.input.at(), made.result().at());
    if (plan_.fault == DeviceFault::hurry && plan_.strikes(rank_))
      made.request.timeout = milliseconds(1 + index % 20);
    if (plan_.on_stream[index]) made.request.stream = stream_.get();
    made.work = TRY(context_->start(made.request));
    running_.push_back(std::move(made));
    return {};
  }

  /// Waits for what is under way, or leaves, or dies.
  void end() {
    if (plan_.fault == DeviceFault::death && plan_.strikes(rank_)) {
      run_.server.notify({Notice::Kind::dead, {"worker", rank_}, "killed by SIGKILL"});
      run_.others_ended.wait();
      return;
    }
    const bool leaves = plan_.fault == DeviceFault::leave && plan_.strikes(rank_);
    while (!leaves && !stopped_ && !running_.empty()) {
      if (!context_->driver().wait(running_.front().work, Clock::now() + seconds(60))) {
        complain(running_.front(), "never ends");
        stop();
      }
      judge_ended();
    }
  }

  void judge_ended() {
    std::erase_if(running_, [this](Running& running) {
      if (!context_->driver().done(running.work)) return false;
      judge(running);
      return true;
    });
  }
  void judge(Running& running) {
    const auto outcome = context_->driver().wait(running.work, Time::max());
    if (*outcome) return judge_success(running);
    const Error& error = outcome->error();
    if (error.code == Errc::mismatch) return judge_mismatch(running);
    stop();
    if (!may_fail_with(error)) complain(running, "fails without a reason: " + error.message);
    judge_left(running);
  }
  /// True when the fault can be the reason of this error.
  bool may_fail_with(const Error& error) const {
    const bool fails = plan_.fault != DeviceFault::none || plan_.may_abort_nccl();
    switch (error.code) {
      case Errc::closed:  // behind another error, or where this rank leaves
        return fails;
      case Errc::peer_lost:
        return fails && error.message.find("rank ") != std::string::npos;
      case Errc::timeout:
        return plan_.fault == DeviceFault::hurry;
      case Errc::os:
        return plan_.fault == DeviceFault::nccl || plan_.fault == DeviceFault::hurry ||
               plan_.may_abort_nccl() ||
               (plan_.fault == DeviceFault::device && plan_.strikes(rank_));
      default:
        return plan_.fault == DeviceFault::nccl && error.code == Errc::unsupported;
    }
  }
  void judge_success(Running& running) {
    const Call& call = plan_.program.calls[running.call];
    // Once a receive has timed out, the next one gets its message.
    if (call.is_message() && (call.from == rank_ || plan_.fault == DeviceFault::hurry)) return;
    if (call.odd_rank >= 0) return complain(running, "succeeds although one differs");
    if (call.needs_joined()) return complain(running, "succeeds without a rank that it needs");
    if (call.kind == OperationKind::join) return judge_join(running);
    if (!has_output(call, rank_)) return;
    const auto output = running.result().span();
    if (call.rough) return judge_rough(running, output);
    if (!has_right_result(call, rank_, plan_.size, running.work->request, output))
      complain(running, "has a wrong result");
  }
  /// All ranks know the same last one.
  void judge_join(const Running& running) {
    const std::byte* const last = running.work->request.result->data.get();
    if (!run_.agrees(running.call, 0, Bytes(last, last + sizeof(int32_t))))
      complain(running, "has another last rank than a rank before");
  }
  /// Sums that are rounded have the same bits on all ranks.
  void judge_rough(Running& running, std::span<const std::byte> output) {
    const Call& call = plan_.program.calls[running.call];
    const int part = call.kind == OperationKind::reduce_scatter ? rank_ : 0;
    const auto result = output.first(output_count(call, plan_.size) * element_bytes(call.type));
    if (!run_.agrees(running.call, part, Bytes(result.begin(), result.end())))
      complain(running, "has other bits than a rank before");
  }
  void judge_mismatch(const Running& running) {
    const Call& call = plan_.program.calls[running.call];
    const bool shifted = call.is_message() && plan_.fault == DeviceFault::hurry;
    if (call.odd_rank < 0 && !call.needs_joined() && !shifted && !plan_.may_abort_nccl())
      complain(running, "is called a mismatch");
  }
  /// A call that has failed leaves no poison in memory of the device. If it was staged, each
  /// element is the one before, or the result.
  void judge_left(Running& running) {
    const Call& call = plan_.program.calls[running.call];
    // On the host, the engine has partial sums in the output.
    if (!plan_.on_device[running.call] || has_own_counts(call.kind) || call.odd_rank >= 0) return;
    const Bytes wanted = expected_output(call, rank_, plan_.size);
    const auto left = running.result().span();
    const size_t bytes = element_bytes(call.type);
    for (size_t at = 0; at + bytes <= left.size(); at += bytes) {
      const auto element = left.subspan(at, bytes);
      const auto same = [&](const Bytes& other) {
        return at + bytes <= other.size() &&
               std::ranges::equal(element, std::span(other).subspan(at, bytes));
      };
      if (same(running.before) || same(wanted)) continue;
      const bool poisoned = std::ranges::all_of(element, [](std::byte b) { return b == poison; });
      if (poisoned) return complain(running, "fails, and leaves poison");
      if (plan_.collectives == "staged" && !call.rough)
        return complain(running, "fails, and leaves other numbers");
    }
  }
  void complain(const Running& running, const std::string& what) {
    const Call& call = plan_.program.calls[running.call];
    run_.complain(format("{} {}{} of {} elements on rank {} of {} ({}, fault {}, victim {}) {}",
                         kind_name(call.kind), running.call, call.by_name ? " by name" : "",
                         call.count, rank_, plan_.size, plan_.collectives,
                         static_cast<int>(plan_.fault), plan_.victim, what));
  }

  DeviceRun& run_;
  const DevicePlan& plan_;
  int rank_;
  std::atomic<size_t> calls_ = 0;  ///< of the device
  std::atomic<bool> armed_ = false;
  std::atomic<size_t> armed_calls_ = 0;
  bool stopped_ = false;  ///< a call has failed
  DeviceList devices_;
  std::unique_ptr<DeviceStream> stream_;              ///< of the caller
  std::pair<DeviceBuffer, Driver::Work> first_ = {};  ///< the sum that NCCL runs first
  std::vector<Running> running_ = {};
  std::shared_ptr<Context> context_ = {};
};

}  // namespace dt
