// A rank of `dtrain run` that calls libdtrain's collectives on memory of its device. `device_ranks
// check nccl` compares those that NCCL plays with those on memory of the host, bit for bit, and
// `check staged` the others. In `device_ranks killed FOLDER`, the last rank kills itself. The
// others have begun a collective then, and have made files in the empty FOLDER. They must get an
// error that names the rank.
//
// The device is a GPU. With DTRAIN_CPU_DEVICES=1 and DTRAIN_NCCL_LIB, both are stand-ins. The
// variable DTRAIN_DEVICE_COLLECTIVES must fit.
#include "base/environment.h"
#include "base/format.h"
#include "comm/dtrain.hpp"
#include "comm/dtrain_memory.h"
#include "comm/dtrain_work.h"
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

  /// Small whole numbers, so that sums and averages have no rounding.
  Numbers input(size_t count) const {
    Numbers numbers(count);
    for (size_t i = 0; i < count; ++i)
      numbers[i] = static_cast<float>((i + static_cast<size_t>(context.rank()) * 5) % 13);
    return numbers;
  }
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
    // A CPU device has no handle: its stream is known by its address.
    if (gives_stream)
      options.stream = self.stream->native() != nullptr ? self.stream->native() : self.stream.get();
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

/// Sums until the ranks have voted for NCCL. Returns false when a call fails before.
bool reach_nccl(DeviceRank& self) {
  const DeviceBuffer memory = self.put(self.input(1000));
  const dtrain_buffers buffers = {nullptr, memory.at(), 1000, DTRAIN_FLOAT32};
  dtrain_context* const context = self.context.get();
  while (dtrain_uses_nccl(context) == 0) {
    if (dtrain_all_reduce(context, buffers, DTRAIN_SUM, nullptr, &self.error) == DTRAIN_OK)
      continue;
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

/// Returns 0 when the error names the rank that was killed.
int be_killed(DeviceRank& self, const std::filesystem::path& folder) {
  const int last = self.context.size() - 1;
  if (!reach_nccl(self)) return 1;
  const DeviceBuffer memory = self.put(self.input(1000));
  const dtrain_buffers buffers = {nullptr, memory.at(), 1000, DTRAIN_FLOAT32};
  if (self.context.rank() == last) {
    const Time end = Clock::now() + step_max;
    const auto files = [&] {
      return std::distance(std::filesystem::directory_iterator(folder), {});
    };
    while (files() < last && Clock::now() < end)
      std::this_thread::sleep_for(milliseconds(1));
    static_cast<void>(std::raise(SIGKILL));
  }
  std::ofstream(folder / format("{}", self.context.rank())) << "begins\n";
  const int status =
      dtrain_all_reduce(self.context.get(), buffers, DTRAIN_SUM, nullptr, &self.error);
  std::printf("rank %d: %s\n", self.context.rank(), self.error.text);
  return status == DTRAIN_ERROR_PEER_LOST && self.error.rank == last ? 0 : 1;
}

}  // namespace
}  // namespace dt

int main(int count, char** words) {
  const std::string what = count == 3 ? words[1] : "";
  const std::string how = count == 3 ? words[2] : "";
  if (what != "killed" && !(what == "check" && (how == "nccl" || how == "staged"))) {
    std::fprintf(stderr, "usage: device_ranks check nccl|staged, or device_ranks killed FOLDER\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  dt::DeviceRank self;
  return what == "check" ? dt::check_all(self, how == "nccl") : dt::be_killed(self, how);
}
