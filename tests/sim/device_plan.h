#pragma once

#include "base/format.h"
#include "gpu/cpu/call_probe.h"
#include "tests/sim/program.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_group.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace dt {

/// A fault of a rank with a device, or of NCCL.
enum class DeviceFault {
  none,
  device,  ///< a call of the victim's device fails, and with it the device
  nccl,    ///< a call of NCCL fails at some rank
  leave,   ///< the victim finalizes while its calls are under way
  death,   ///< the launcher says that the victim died
  hurry,   ///< the victim's calls have short time limits
};

/// Everything that a seed decides about a program on devices.
struct DevicePlan {
  uint64_t seed = 0;
  int size = 2;
  int per_host = 1;
  std::string collectives = "staged";  ///< DTRAIN_DEVICE_COLLECTIVES
  std::string peer_max = "0";          ///< DTRAIN_PEER_MAX
  bool share = false;                  ///< DTRAIN_GPU_SHARE
  std::string nccl;                    ///< FAKE_NCCL
  DeviceFault fault = DeviceFault::none;
  int victim = 0;
  size_t fault_at = 0;          ///< the call of the device, or the action of the victim; from 0
  bool hangs = false;           ///< NCCL does not end its sums
  size_t yields_max = 0;        ///< of a device before each call: its latency
  std::vector<bool> on_device;  ///< by call; the others have memory of the host
  std::vector<bool> on_stream;  ///< by call: the caller gives its stream
  Program program;

  bool may_use_nccl() const { return collectives != "staged"; }
  /// True when ranks differ in a call that NCCL runs beside their vote. No rank can use NCCL then.
  bool may_abort_nccl() const {
    const auto& calls = program.calls;
    for (size_t i = 0; i < calls.size() && may_use_nccl(); ++i) {
      const bool votes = on_device[i] && !calls[i].by_name && !calls[i].is_message();
      if (votes && calls[i].odd_rank >= 0) return true;
    }
    return false;
  }
  bool strikes(int rank) const { return rank == victim && fault != DeviceFault::none; }
};

/// Chooses what NCCL does wrong. The number of the seed makes it count its calls anew.
inline std::string nccl_words(Random& random, const DevicePlan& plan) {
  static constexpr const char* functions[] = {"ncclAllReduce", "ncclBroadcast", "ncclAllGather",
                                              "ncclGroupEnd", "ncclCommInitRankConfig"};
  std::string words = format("seed={}", plan.seed);
  if (plan.hangs) words += " hang=ncclAllReduce";
  if (plan.fault == DeviceFault::nccl)
    words += format(" fail={}:{}", functions[random.below(5)], random.between(1, 12));
  return words;
}

inline DevicePlan device_plan(uint64_t seed) {
  Random random(seed);
  DevicePlan plan = {.seed = seed, .size = random.between(2, 4)};
  plan.per_host = random.between(1, plan.size);
  if (random.percent(65)) plan.collectives = random.percent(70) ? "nccl" : "auto";
  if (random.percent(30)) plan.peer_max = "64K";
  if (random.percent(60)) plan.fault = static_cast<DeviceFault>(random.below(6));
  plan.victim = random.between(0, plan.size - 1);
  plan.fault_at = random.below(plan.fault == DeviceFault::device ? 60 : 20);
  const bool ends = plan.fault == DeviceFault::leave || plan.fault == DeviceFault::death;
  plan.hangs = plan.may_use_nccl() && ends && random.percent(50);
  plan.nccl = nccl_words(random, plan);
  if (random.percent(40)) plan.yields_max = random.below(100);
  std::vector<int> ranks(static_cast<size_t>(plan.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  plan.program = random_program(random, {SimGroup{.ranks = ranks}}, random.percent(30));
  plan.share = random.percent(50);
  for (const Call& call : plan.program.calls) {
    const bool on_device = call.kind != OperationKind::barrier && random.percent(80);
    // The ranks call those of a stream in one order.
    const bool ordered = !call.by_name && !call.is_message();
    plan.on_device.push_back(on_device);
    plan.on_stream.push_back(on_device && ordered && random.percent(40));
  }
  return plan;
}

}  // namespace dt
