// A rank of `dtrain run` that calls libdtrain's collectives on memory of its device. `device_ranks
// check nccl` compares those that NCCL runs with those on memory of the host, bit for bit, and
// `check staged` the others. `device_ranks cost` prints the host's time of small calls that NCCL
// runs on a stream. In `device_ranks killed FOLDER`, the last rank kills itself. The others have
// begun a collective then, and have made files in the empty FOLDER. They must get an error that
// names the rank. In `device_ranks killed_in_list FOLDER`, small tensors have been packed then,
// where NCCL hangs in its all_reduce. Their buffers must stay as they were. Where NCCL does not
// hang, a buffer may also have its exact sums.
//
// The device is a GPU. With DTRAIN_CPU_DEVICES=1 and DTRAIN_NCCL_LIB, both are stand-ins. The
// variable DTRAIN_DEVICE_COLLECTIVES must fit.
#include "base/environment.h"
#include "base/format.h"
#include "comm/include/dtrain/dtrain.hpp"
#include "comm/include/dtrain/dtrain_memory.h"
#include "comm/include/dtrain/dtrain_work.h"
#include "gpu/devices/open_devices.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

constexpr Duration step_max = seconds(60);
using Numbers = std::vector<float>;

/// Makes the collective on these buffers; `stream` is that of the caller, or null.
using Collective = int (*)(dtrain_context* context, dtrain_buffers buffers,
                           const dtrain_op_options* options, dtrain_error* error);

struct CheckedCollective {
  const char* name;
  Collective call;
  bool parts_in = false;   ///< the input has a part for each rank
  bool parts_out = false;  ///< the output likewise
  const char* call_name = nullptr;
  double prescale = 0;
  double postscale = 0;
  int compression = DTRAIN_NO_COMPRESSION;
};

/// The sum of a list: its tensors are the parts of one buffer.
int sum_list(dtrain_context* context, dtrain_buffers buffers, const dtrain_op_options* options,
             dtrain_error* error) {
  constexpr size_t parts_max = 40;
  std::vector<dtrain_buffers> tensors;
  const size_t part = (buffers.count + parts_max - 1) / parts_max;
  for (size_t begin = 0; begin < buffers.count; begin += part)
    tensors.push_back({static_cast<const float*>(buffers.input) + begin,
                       static_cast<float*>(buffers.output) + begin,
                       std::min(part, buffers.count - begin), DTRAIN_FLOAT32});
  const dtrain_tensor_list list = {sizeof list, tensors.data(), tensors.size(), nullptr, nullptr};
  return dtrain_all_reduce_list(context, &list, DTRAIN_SUM, options, error);
}

int sum(dtrain_context* context, dtrain_buffers buffers, const dtrain_op_options* options,
        dtrain_error* error) {
  return dtrain_all_reduce(context, buffers, DTRAIN_SUM, options, error);
}

constexpr CheckedCollective collectives[] = {
    {"all_reduce, sum", sum},
    {.name = "all_reduce, sum by name", .call = sum, .call_name = "gradient"},
    {.name = "all_reduce, sum with scales", .call = sum, .prescale = 2, .postscale = 0.25},
    {.name = "all_reduce, sum compressed to bfloat16",
     .call = sum,
     .compression = DTRAIN_COMPRESSION_BFLOAT16},
    {"all_reduce, sums of a list", sum_list},
    {"all_reduce, average",
     [](auto* context, auto buffers, auto* options, auto* error) {
       return dtrain_all_reduce(context, buffers, DTRAIN_AVERAGE, options, error);
     }},
    {"broadcast",
     [](auto* context, auto buffers, auto* options, auto* error) {
       return dtrain_broadcast(context, buffers, 1, options, error);
     }},
    {"all_gather",
     [](auto* context, auto buffers, auto* options, auto* error) {
       return dtrain_all_gather(context, buffers, options, error);
     },
     false, true},
    {"reduce_scatter",
     [](auto* context, auto buffers, auto* options, auto* error) {
       return dtrain_reduce_scatter(context, buffers, DTRAIN_MAX, options, error);
     },
     true, false},
    {"all_to_all",
     [](auto* context, auto buffers, auto* options, auto* error) {
       return dtrain_all_to_all(context, buffers, options, error);
     },
     true, true},
};

dtrain_op_options options_of(const CheckedCollective& collective) {
  dtrain_op_options options = {.struct_size = sizeof options};
  options.name = collective.call_name;
  options.prescale = collective.prescale;
  options.postscale = collective.postscale;
  options.compression = collective.compression;
  return options;
}

/// Small whole numbers, so that sums and averages have no rounding.
Numbers numbers_of(int rank, size_t count) {
  Numbers numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>((i + static_cast<size_t>(rank) * 5) % 13);
  return numbers;
}

void require(const Result<>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

/// A rank of the job with its device.
struct DeviceRank {
  dtrain::Context context = dtrain::init();
  DeviceList devices = open_devices(process_environment()).value();
  Device& device = *devices[static_cast<size_t>(context.local_rank()) % devices.size()];
  std::unique_ptr<DeviceStream> stream = device.make_stream().value();
  dtrain_error error = {.struct_size = sizeof error};

  /// Returns the stream as callers name it. A CPU device has no handle, so it is the address.
  void* handle() const { return stream->native() != nullptr ? stream->native() : stream.get(); }
  Numbers input(size_t count) const { return numbers_of(context.rank(), count); }
  DeviceBuffer put(const Numbers& numbers) const {
    const size_t bytes = numbers.size() * sizeof(float);
    DeviceBuffer buffer = device.allocate(bytes).value();
    require(stream->copy({buffer.at(), reinterpret_cast<const std::byte*>(numbers.data()), bytes}));
    require(stream->synchronize(Clock::now() + step_max));
    return buffer;
  }
  Numbers get(const DeviceBuffer& buffer, size_t count) const {
    Numbers numbers(count);
    auto* const to = reinterpret_cast<std::byte*>(numbers.data());
    require(stream->copy({to, buffer.at(), count * sizeof(float)}));
    require(stream->synchronize(Clock::now() + step_max));
    return numbers;
  }
};

/// Returns false when a call fails, or its results differ from those of the host.
bool check_collective(DeviceRank& self, const CheckedCollective& collective, size_t count) {
  const auto size = static_cast<size_t>(self.context.size());
  const Numbers input = self.input(count * (collective.parts_in ? size : 1));
  const size_t results = count * (collective.parts_out ? size : 1);
  Numbers expected(results, -1);
  dtrain_context* const context = self.context.get();
  dtrain_op_options options = options_of(collective);
  int status = collective.call(context, {input.data(), expected.data(), count, DTRAIN_FLOAT32},
                               &options, &self.error);
  for (const bool gives_stream : {false, true}) {
    if (status != DTRAIN_OK) break;
    const DeviceBuffer from = self.put(input);
    const DeviceBuffer to = self.put(Numbers(results, -1));
    if (gives_stream) options.stream = self.handle();
    status = collective.call(context, {from.at(), to.at(), count, DTRAIN_FLOAT32}, &options,
                             &self.error);
    if (status != DTRAIN_OK || self.get(to, results) == expected) continue;
    std::printf("rank %d: %s of %zu: results differ\n", self.context.rank(), collective.name,
                count);
    return false;
  }
  if (status != DTRAIN_OK) std::printf("%s\n", self.error.text);
  return status == DTRAIN_OK;
}

/// Broadcasts, and lets the stream of the options wait for the result.
int broadcast_on_stream(DeviceRank& self, dtrain_buffers buffers,
                        const dtrain_op_options& options) {
  dtrain_work* const work =
      dtrain_broadcast_async(self.context.get(), buffers, 0, &options, &self.error);
  int status = dtrain_work_wait_stream(work, options.stream, -1, &self.error);
  if (status == DTRAIN_OK) status = dtrain_work_wait(work, -1, &self.error);
  dtrain_work_free(work);
  return status;
}

/// Broadcasts until the ranks have voted for NCCL. Returns false when a call fails before. With a
/// stream in the options, that waits for staged calls while NCCL connects the devices.
bool reach_nccl(DeviceRank& self, const dtrain_op_options* options = nullptr) {
  const DeviceBuffer memory = self.put(self.input(1000));
  const dtrain_buffers buffers = {nullptr, memory.at(), 1000, DTRAIN_FLOAT32};
  dtrain_context* const context = self.context.get();
  while (dtrain_uses_nccl(context) == 0) {
    const int status = options == nullptr
                           ? dtrain_broadcast(context, buffers, 0, nullptr, &self.error)
                           : broadcast_on_stream(self, buffers, *options);
    if (status == DTRAIN_OK) continue;
    std::printf("%s\n", self.error.text);
    return false;
  }
  return true;
}

int check_all(DeviceRank& self, bool by_nccl) {
  if (by_nccl && !reach_nccl(self)) return 1;
  if (self.context.rank() == 0)
    std::printf("%d ranks on %s and others\n", self.context.size(), self.device.name().c_str());
  for (const CheckedCollective& collective : collectives) {
    // The last is staged in several chunks.
    for (const size_t count : {size_t{1}, size_t{1000}, size_t{100'003}, size_t{3'000'001}})
      if (!check_collective(self, collective, count)) return 1;
    if (self.context.rank() == 0) std::printf("%s: compared\n", collective.name);
  }
  return 0;
}

/// Returns the middle of the times, and both ends.
std::string median_of(std::vector<double> times_us) {
  std::ranges::sort(times_us);
  return format("median {:.1f} µs ({:.1f} to {:.1f})", times_us[times_us.size() / 2],
                times_us.front(), times_us.back());
}

/// Prints the time of the first sum, and the host's time of later ones on a stream.
int measure_cost(DeviceRank& self, Time begin) {
  constexpr size_t count = 1024;
  constexpr int rounds = 220;
  constexpr int warm_rounds = 20;
  const DeviceBuffer memory = self.put(self.input(count));
  const dtrain_buffers buffers = {nullptr, memory.at(), count, DTRAIN_FLOAT32};
  dtrain_op_options options = {.struct_size = sizeof options};
  options.stream = self.handle();
  const auto us_since = [](Time from) {
    return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
  };
  if (dtrain_all_reduce(self.context.get(), buffers, DTRAIN_AVERAGE, &options, &self.error) !=
      DTRAIN_OK) {
    std::printf("%s\n", self.error.text);
    return 1;
  }
  const double first_us = us_since(begin);
  if (!reach_nccl(self, &options)) return 1;
  const double connected_us = us_since(begin);
  std::vector<double> calls_us;
  std::vector<double> ends_us;
  for (int i = 0; i < rounds; ++i) {
    const Time call = Clock::now();
    dtrain_work* const work =
        dtrain_all_reduce_async(self.context.get(), buffers, DTRAIN_AVERAGE, &options, &self.error);
    int status = dtrain_work_wait_stream(work, options.stream, -1, &self.error);
    const double call_us = us_since(call);
    if (status == DTRAIN_OK) status = dtrain_work_wait(work, -1, &self.error);
    if (i >= warm_rounds) calls_us.push_back(call_us);
    if (i >= warm_rounds) ends_us.push_back(us_since(call));
    dtrain_work_free(work);
    if (status == DTRAIN_OK) continue;
    std::printf("%s\n", self.error.text);
    return 1;
  }
  std::printf(
      "rank %d: the first all_reduce had ended %.2f s after the start, and NCCL was connected "
      "after "
      "%.2f s\nrank %d: a call of 4 KB on a stream: %s; until its end: %s\n",
      self.context.rank(), first_us / 1e6, connected_us / 1e6, self.context.rank(),
      median_of(calls_us).c_str(), median_of(ends_us).c_str());
  return 0;
}

/// Returns when so many other ranks have made their files.
void await_files(const std::filesystem::path& folder, int count) {
  const Time end = Clock::now() + step_max;
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  while (files() < count && Clock::now() < end)
    std::this_thread::sleep_for(milliseconds(1));
}

void make_file(const std::filesystem::path& folder, int rank) {
  std::ofstream(folder / format("{}", rank)) << "begins\n";
}

/// Returns 0 when the error names the rank that was killed.
int be_killed(DeviceRank& self, const std::filesystem::path& folder) {
  const int last = self.context.size() - 1;
  if (!reach_nccl(self)) return 1;
  const DeviceBuffer memory = self.put(self.input(1000));
  const dtrain_buffers buffers = {nullptr, memory.at(), 1000, DTRAIN_FLOAT32};
  if (self.context.rank() == last) {
    await_files(folder, last);
    static_cast<void>(std::raise(SIGKILL));
  }
  make_file(folder, self.context.rank());
  const int status =
      dtrain_all_reduce(self.context.get(), buffers, DTRAIN_SUM, nullptr, &self.error);
  std::printf("rank %d: %s\n", self.context.rank(), self.error.text);
  return status == DTRAIN_ERROR_PEER_LOST && self.error.rank == last ? 0 : 1;
}

/// Sums of the tensors of a list in their buffers, which are one call of NCCL. A kernel packs the
/// tensors, and another unpacks the sums. Packed tensors are doubled, and so differ from those
/// before.
class FusedSums {
 public:
  static constexpr size_t tensors = 16;

  explicit FusedSums(DeviceRank& self) : self_(self) {
    std::vector<dtrain_buffers> buffers;
    for (size_t i = 0; i < tensors; ++i) {
      memory_.push_back(self.put(self.input(count)));
      buffers.push_back({nullptr, memory_[i].at(), count, DTRAIN_FLOAT32});
    }
    const dtrain_tensor_list list = {sizeof list, buffers.data(), tensors, nullptr, nullptr};
    dtrain_op_options options = {.struct_size = sizeof options};
    options.name = "gradients";
    options.prescale = 2;
    work_ = dtrain_all_reduce_list_async(self.context.get(), &list, DTRAIN_SUM, &options, nullptr);
  }
  FusedSums(const FusedSums&) = delete;
  FusedSums& operator=(const FusedSums&) = delete;
  ~FusedSums() { dtrain_work_free(work_); }

  int wait(int timeout_ms) { return dtrain_work_wait(work_, timeout_ms, &self_.error); }
  /// Returns the number of the buffers that have the numbers before the call.
  size_t unchanged() const { return holding(self_.input(count)); }
  /// Returns the number of those that have the sums.
  size_t exact() const {
    Numbers sums(count);
    for (int rank = 0; rank < self_.context.size(); ++rank) {
      const Numbers input = numbers_of(rank, count);
      for (size_t i = 0; i < count; ++i)
        sums[i] += 2 * input[i];
    }
    return holding(sums);
  }

 private:
  static constexpr size_t count = 1000;

  size_t holding(const Numbers& numbers) const {
    return static_cast<size_t>(std::ranges::count_if(
        memory_, [&](const DeviceBuffer& buffer) { return self_.get(buffer, count) == numbers; }));
  }

  DeviceRank& self_;
  std::vector<DeviceBuffer> memory_;
  dtrain_work* work_ = nullptr;
};

/// Kills this rank where NCCL hangs, else in one of the next calls.
[[noreturn]] void die_in_list(DeviceRank& self, const std::filesystem::path& folder) {
  for (int round = 0;; ++round) {
    FusedSums sums(self);
    await_files(folder, self.context.rank());
    // All ranks have begun the call. None can see that the others have packed their tensors.
    if (round == 3 || sums.wait(500) == DTRAIN_PENDING) static_cast<void>(std::raise(SIGKILL));
  }
}

/// Returns 0 when the error names the rank that was killed. Each buffer must be as it was, or have
/// its sums.
int be_killed_in_list(DeviceRank& self, const std::filesystem::path& folder) {
  const int rank = self.context.rank();
  const int last = self.context.size() - 1;
  if (!reach_nccl(self)) return 1;
  if (rank == last) die_in_list(self, folder);
  while (true) {
    FusedSums sums(self);
    make_file(folder, rank);
    const int status = sums.wait(-1);
    const size_t exact = sums.exact();
    if (status == DTRAIN_OK && exact == FusedSums::tensors) continue;
    const size_t unchanged = sums.unchanged();
    const bool right = unchanged + exact == FusedSums::tensors;
    const bool named = status == DTRAIN_ERROR_PEER_LOST && self.error.rank == last;
    std::printf("%srank %d: %s; of %zu buffers, %zu are as they were and %zu have sums\n",
                right && named ? "" : "wrong: ", rank, self.error.text, FusedSums::tensors,
                unchanged, exact);
    return right && named ? 0 : 1;
  }
}

}  // namespace
}  // namespace dt

int main(int count, char** words) {
  const dt::Time begin = dt::Clock::now();
  const std::string what = count >= 2 ? words[1] : "";
  const std::string how = count == 3 ? words[2] : "";
  const bool checks = what == "check" && (how == "nccl" || how == "staged");
  const bool measures = what == "cost" && count == 2;
  const bool dies = (what == "killed" || what == "killed_in_list") && count == 3;
  if (!checks && !measures && !dies) {
    std::fprintf(stderr,
                 "usage: device_ranks check nccl|staged, device_ranks cost, device_ranks killed "
                 "FOLDER, or device_ranks killed_in_list FOLDER\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  dt::DeviceRank self;
  if (measures) return dt::measure_cost(self, begin);
  if (checks) return dt::check_all(self, how == "nccl");
  return what == "killed" ? dt::be_killed(self, how) : dt::be_killed_in_list(self, how);
}
