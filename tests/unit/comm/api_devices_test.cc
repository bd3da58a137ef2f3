// Results of operations on memory of devices, in C. Devices of the CPU take the place of GPUs.
#include "comm/collective/reduce.h"
#include "comm/dtrain.h"
#include "comm/schedule/operation_kind.h"
#include "tests/unit/comm/world_fixture.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {
namespace {

using Bytes = std::vector<std::byte>;

/// Bytes that differ by rank: numbers of every type, also infinite ones and NaN.
Bytes some_bytes(size_t count, int rank) {
  Bytes bytes(count);
  uint32_t state = 12345U + static_cast<uint32_t>(rank);
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

size_t bytes_of_type(int type) {
  return element_bytes(static_cast<ElementType>(type - 1));
}

/// One operation and the size of its buffers.
struct Call {
  OperationKind kind;
  int type = DTRAIN_FLOAT32;
  int op = DTRAIN_SUM;
  bool in_place = false;
  size_t count = 1000;

  size_t parts_in(int size) const {
    const bool whole = kind == OperationKind::reduce_scatter || kind == OperationKind::scatter ||
                       kind == OperationKind::all_to_all;
    return whole ? static_cast<size_t>(size) : 1;
  }
  size_t parts_out(int size) const {
    const bool whole = kind == OperationKind::all_gather || kind == OperationKind::gather ||
                       kind == OperationKind::all_to_all || in_place;
    return whole ? static_cast<size_t>(size) : 1;
  }
  size_t bytes(size_t parts) const { return parts * count * bytes_of_type(type); }
  std::string text() const {
    return std::string(kind_name(kind)) + " of type " + std::to_string(type) + ", reduction " +
           std::to_string(op) + (in_place ? ", in place" : "");
  }
};

/// Performs the call. Sends and receives go round in a ring, so only the sends are on a stream.
int perform(dtrain_context* context, const Call& call, dtrain_buffers buffers,
            const dtrain_op_options* options) {
  const int size = dtrain_size(context);
  const int root = size - 1;
  switch (call.kind) {
    case OperationKind::all_reduce:
      return dtrain_all_reduce(context, buffers, call.op, options, nullptr);
    case OperationKind::broadcast:
      return dtrain_broadcast(context, buffers, root, options, nullptr);
    case OperationKind::all_gather:
      return dtrain_all_gather(context, buffers, options, nullptr);
    case OperationKind::reduce_scatter:
      return dtrain_reduce_scatter(context, buffers, call.op, options, nullptr);
    case OperationKind::reduce:
      return dtrain_reduce(context, buffers, {call.op, root}, options, nullptr);
    case OperationKind::gather:
      return dtrain_gather(context, buffers, root, options, nullptr);
    case OperationKind::scatter:
      return dtrain_scatter(context, buffers, root, options, nullptr);
    case OperationKind::all_to_all:
      return dtrain_all_to_all(context, buffers, options, nullptr);
    default:
      break;
  }
  const int next = (dtrain_rank(context) + 1) % size;
  const int before = (dtrain_rank(context) + size - 1) % size;
  dtrain_work* const sent = dtrain_send_async(
      context, {buffers.input, nullptr, buffers.count, buffers.type}, next, options, nullptr);
  const int received = dtrain_recv(context, {nullptr, buffers.output, buffers.count, buffers.type},
                                   before, nullptr, nullptr);
  const int status = dtrain_work_wait(sent, -1, nullptr);
  dtrain_work_free(sent);
  return received == DTRAIN_OK ? status : received;
}

/// Returns the output of the call on memory of the host.
Bytes result_on_host(dtrain_context* context, const Call& call) {
  const int rank = dtrain_rank(context);
  const int size = dtrain_size(context);
  Bytes output = some_bytes(call.bytes(call.parts_out(size)), rank + 100);
  const Bytes input = some_bytes(call.bytes(call.parts_in(size)), rank);
  const dtrain_buffers buffers = {call.in_place ? nullptr : input.data(), output.data(), call.count,
                                  call.type};
  CHECK_MESSAGE(perform(context, call, buffers, nullptr) == DTRAIN_OK, call.text());
  return output;
}

/// The same on memory of the stream's device. Gives the operation the stream if that is wanted.
Bytes result_on_device(dtrain_context* context, const Call& call, DeviceStream& stream,
                       bool gives_stream) {
  const int rank = dtrain_rank(context);
  const int size = dtrain_size(context);
  const size_t bytes = call.bytes(call.parts_out(size));
  const DeviceBuffer output = on_device(stream, some_bytes(bytes, rank + 100));
  const DeviceBuffer input = on_device(stream, some_bytes(call.bytes(call.parts_in(size)), rank));
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  if (gives_stream) options.stream = &stream;
  const dtrain_buffers buffers = {call.in_place ? nullptr : input.at(), output.at(), call.count,
                                  call.type};
  CHECK_MESSAGE(perform(context, call, buffers, &options) == DTRAIN_OK, call.text());
  return values_of<std::byte>(stream, output, bytes);
}

void check_same(World& world, const std::vector<Call>& calls) {
  check_all_well(world.run([&](dtrain::Context& context) {
    const CpuDevices cpu({});
    for (const Call& call : calls) {
      const Bytes expected = result_on_host(context.get(), call);
      for (const bool gives_stream : {false, true}) {
        const Bytes result = result_on_device(context.get(), call, cpu.stream(0), gives_stream);
        CHECK_MESSAGE(result == expected, call.text());
      }
    }
  }));
}

TEST_CASE("every operation has the same results on memory of a device as on that of the host") {
  std::vector<Call> calls;
  for (const int type : {DTRAIN_FLOAT32, DTRAIN_INT16, DTRAIN_UINT64}) {
    for (auto kind = OperationKind::all_reduce; kind <= OperationKind::all_to_all;
         kind = static_cast<OperationKind>(static_cast<int>(kind) + 1)) {
      calls.push_back({.kind = kind, .type = type});
      const bool has_input =
          kind == OperationKind::reduce_scatter || kind == OperationKind::scatter;
      if (!has_input) calls.push_back({.kind = kind, .type = type, .in_place = true});
    }
  }
  for (const int size : {1, 2, 3, 4}) {
    World world({.size = size, .per_host = 2});
    check_same(world, calls);
    if (size == 1) continue;
    check_same(world, {{.kind = OperationKind::send}});
  }
}

TEST_CASE("every type and reduction has the same results on memory of a device") {
  std::vector<Call> calls;
  for (int type = DTRAIN_INT8; type <= DTRAIN_BOOL; ++type) {
    for (int op = DTRAIN_SUM; op <= DTRAIN_ADASUM; ++op) {
      const bool floating = is_floating(static_cast<ElementType>(type - 1));
      if ((op == DTRAIN_ADASUM && !floating) || (op == DTRAIN_AVERAGE && type == DTRAIN_BOOL))
        continue;
      calls.push_back({.kind = OperationKind::all_reduce, .type = type, .op = op});
    }
  }
  World world({.size = 2, .per_host = 2});
  check_same(world, calls);
}

}  // namespace
}  // namespace dt
