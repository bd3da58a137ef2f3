// A rank of `dtrain run` with a device, which NCCL connects with the others. `nccl_ranks check`
// compares each collective of each type with the host, bit for bit.
//
// The device is a GPU. With DTRAIN_CPU_DEVICES=1 and DTRAIN_NCCL_LIB, both are stand-ins.
#include "base/environment.h"
#include "base/kernels/half.h"
#include "comm/include/dtrain/dtrain.hpp"
#include "gpu/devices/open_devices.h"
#include "gpu/nccl/nccl_communicator.h"
#include "tests/gpu/or_stop.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace dt {
namespace {

using Kind = NcclCall::Kind;
using Bytes = std::vector<std::byte>;

constexpr Duration step_max = seconds(60);

/// A type with the text of its name, and the bits of small whole numbers.
struct CheckedType {
  NcclType type;
  const char* name;
  void (*put)(int value, std::byte* to);
};

template <class T>
void put_number(int value, std::byte* to) {
  const T number = static_cast<T>(value);
  std::memcpy(to, &number, sizeof number);
}
template <class Half>
void put_half(int value, std::byte* to) {
  Half half;
  from_float(static_cast<float>(value), half);
  std::memcpy(to, &half, sizeof half);
}

constexpr CheckedType types[] = {{NcclType::int8, "int8", put_number<int8_t>},
                                 {NcclType::uint8, "uint8", put_number<uint8_t>},
                                 {NcclType::int32, "int32", put_number<int32_t>},
                                 {NcclType::uint32, "uint32", put_number<uint32_t>},
                                 {NcclType::int64, "int64", put_number<int64_t>},
                                 {NcclType::uint64, "uint64", put_number<uint64_t>},
                                 {NcclType::float16, "float16", put_half<Float16>},
                                 {NcclType::bfloat16, "bfloat16", put_half<BFloat16>},
                                 {NcclType::float32, "float32", put_number<float>},
                                 {NcclType::float64, "float64", put_number<double>}};

struct CheckedKind {
  Kind kind;
  const char* name;
};
constexpr CheckedKind kinds[] = {
    {Kind::all_reduce, "all_reduce"}, {Kind::reduce, "reduce"},
    {Kind::broadcast, "broadcast"},   {Kind::all_gather, "all_gather"},
    {Kind::gather, "gather"},         {Kind::reduce_scatter, "reduce_scatter"},
    {Kind::scatter, "scatter"},       {Kind::all_to_all, "all_to_all"}};

/// Element `at` of a rank's input: so small that sums are exact in all types.
int input_at(int rank, size_t at) {
  return static_cast<int>((static_cast<size_t>(rank) * 3 + at) % 4);
}

/// The ranks of the job, this rank's device, and NCCL between them.
class NcclRank {
 public:
  NcclRank()
      : devices_(or_stop(open_devices(process_environment()))),
        device_(*devices_[static_cast<size_t>(context_.local_rank()) % devices_.size()]),
        stream_(or_stop(device_.make_stream())) {
    const NcclLibrary nccl = or_stop(NcclLibrary::open(nccl_candidates(process_environment())));
    NcclMembership membership = {.rank = context_.rank(), .size = context_.size()};
    if (membership.rank == 0) membership.id = or_stop(make_nccl_id(nccl));
    context_.broadcast(membership.id.bytes, 0);
    const std::shared_ptr<void> current = device_.make_current();
    communicator_ = or_stop(NcclCommunicator::join(nccl, membership, wait()));
    if (membership.rank == 0)
      std::printf("%d ranks on %s and others, NCCL %s\n", membership.size, device_.name().c_str(),
                  nccl_version_text(nccl.version()).c_str());
  }

  int rank() const { return context_.rank(); }
  size_t size() const { return static_cast<size_t>(context_.size()); }
  static NcclWait wait() { return {.deadline = Clock::now() + step_max}; }

  /// Runs the call with these inputs. Returns the outputs, which begin as zeros.
  Result<Bytes> run(NcclCall call, const Bytes& inputs, size_t output_bytes) {
    const std::shared_ptr<void> current = device_.make_current();
    const DeviceBuffer from = TRY(device_.allocate(inputs.size()));
    const DeviceBuffer to = TRY(device_.allocate(output_bytes));
    TRY(stream_->copy({from.at(), inputs.data(), inputs.size()}));
    TRY(stream_->fill(to.at(), std::byte{0}, output_bytes));
    TRY(stream_->synchronize(Clock::now() + step_max));
    call.from = from.at();
    call.to = to.at();
    call.stream = stream_->native();
    TRY(communicator_->run(call, wait()));
    Bytes outputs(output_bytes);
    TRY(stream_->copy({outputs.data(), to.at(), output_bytes}));
    TRY(stream_->synchronize(Clock::now() + step_max));
    return outputs;
  }

 private:
  dtrain::Context context_ = dtrain::init();
  DeviceList devices_;
  Device& device_;
  std::unique_ptr<DeviceStream> stream_;
  std::unique_ptr<NcclCommunicator> communicator_ = {};
};

/// Returns element `at` of the result, of which each part has `count` elements.
int expected_at(Kind kind, const NcclRank& self, size_t count, size_t at) {
  const auto rank = static_cast<size_t>(self.rank());
  const size_t part = at / count;
  const size_t within = at % count;
  const bool root = rank == 0;
  const auto sum_at = [&](size_t place) {
    int sum = 0;
    for (size_t i = 0; i < self.size(); ++i)
      sum += input_at(static_cast<int>(i), place);
    return sum;
  };
  switch (kind) {
    case Kind::all_reduce:
      return sum_at(at);
    case Kind::reduce:
      return root ? sum_at(at) : 0;
    case Kind::broadcast:
      return input_at(0, at);
    case Kind::all_gather:
      return input_at(static_cast<int>(part), within);
    case Kind::gather:
      return root ? input_at(static_cast<int>(part), within) : 0;
    case Kind::reduce_scatter:
      return sum_at(rank * count + at);
    case Kind::scatter:
      return input_at(0, rank * count + at);
    default:
      return input_at(static_cast<int>(part), rank * count + within);
  }
}

/// Returns the number of elements that differ.
size_t check_call(NcclRank& self, const CheckedKind& kind, const CheckedType& type, size_t count) {
  const bool parts_in = kind.kind == Kind::reduce_scatter || kind.kind == Kind::scatter ||
                        kind.kind == Kind::all_to_all;
  const bool parts_out =
      kind.kind == Kind::all_gather || kind.kind == Kind::gather || kind.kind == Kind::all_to_all;
  const size_t inputs = count * (parts_in ? self.size() : 1);
  const size_t outputs = count * (parts_out ? self.size() : 1);
  const size_t bytes = nccl_bytes(type.type);
  Bytes input(inputs * bytes);
  for (size_t i = 0; i < inputs; ++i)
    type.put(input_at(self.rank(), i), &input[i * bytes]);
  const Bytes output = or_stop(
      self.run({.kind = kind.kind, .type = type.type, .count = count}, input, outputs * bytes));
  size_t different = 0;
  for (size_t i = 0; i < outputs; ++i) {
    std::byte expected[8] = {};
    type.put(expected_at(kind.kind, self, count, i), expected);
    if (std::memcmp(expected, &output[i * bytes], bytes) != 0) ++different;
  }
  if (different > 0)
    std::printf("rank %d: %s of %zu x %s: %zu elements differ\n", self.rank(), kind.name, count,
                type.name, different);
  return different;
}

int check_all(NcclRank& self) {
  size_t different = 0;
  for (const CheckedKind& kind : kinds) {
    for (const CheckedType& type : types) {
      for (const size_t count : {size_t{1}, size_t{1000}, size_t{100003}})
        different += check_call(self, kind, type, count);
    }
    if (self.rank() == 0) std::printf("%s: compared\n", kind.name);
  }
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace dt

int main(int count, char** words) {
  if (count != 2 || std::string_view(words[1]) != "check") {
    std::fprintf(stderr, "usage: nccl_ranks check\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  dt::NcclRank self;
  return dt::check_all(self);
}
