#pragma once

#include "choices/operation_kind.h"
#include "comm/include/dtrain/dtrain.h"
#include "tests/unit/comm/api/world_fixture.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace dt {

using Elements = std::vector<std::byte>;

/// Bytes that differ by rank: numbers of every type, also infinite ones and NaN. They repeat after
/// a prime number, so chunks of a buffer differ. Under a sanitizer, each new byte takes long.
inline Elements some_bytes(size_t count, int rank) {
  constexpr size_t period = 65'521;
  Elements bytes(count);
  uint32_t state = 12345U + static_cast<uint32_t>(rank);
  for (size_t i = 0; i < std::min(period, count); ++i) {
    state = state * 1664525U + 1013904223U;
    bytes[i] = static_cast<std::byte>(state >> 24);
  }
  for (size_t i = period; i < count; i += period)
    std::memcpy(bytes.data() + i, bytes.data(), std::min(period, count - i));
  return bytes;
}

inline size_t bytes_of_type(dtrain_type type) {
  return element_bytes(type_with_number(type).value());
}

/// Makes the bytes of a buffer of this rank.
using MakeBytes = std::function<Elements(size_t bytes, int rank)>;

/// One operation and the size of its buffers.
struct ApiCall {
  OperationKind kind;
  dtrain_type type = DTRAIN_FLOAT32;
  dtrain_op op = DTRAIN_SUM;
  bool in_place = false;  ///< without an input
  bool same = false;      ///< input and output begin at the same address
  size_t count = 1000;
  MakeBytes make = some_bytes;
  double prescale = 0;   ///< 0: none
  double postscale = 0;  ///< likewise
  int compression = DTRAIN_NO_COMPRESSION;
  const char* name = nullptr;

  dtrain_op_options options(void* stream = nullptr) const {
    dtrain_op_options made = {};
    made.struct_size = sizeof made;
    made.name = name;
    made.prescale = prescale;
    made.postscale = postscale;
    made.compression = compression;
    made.stream = stream;
    return made;
  }
  size_t parts_in(int size) const {
    const bool whole = kind == OperationKind::reduce_scatter || kind == OperationKind::scatter ||
                       kind == OperationKind::all_to_all;
    return whole ? static_cast<size_t>(size) : 1;
  }
  size_t parts_out(int size) const {
    const bool whole = kind == OperationKind::all_gather || kind == OperationKind::gather ||
                       kind == OperationKind::all_to_all || in_place || same;
    return whole ? static_cast<size_t>(size) : 1;
  }
  size_t bytes(size_t parts) const { return parts * count * bytes_of_type(type); }
  std::string text() const {
    return std::string(kind_name(kind)) + " of type " + std::to_string(type) + ", reduction " +
           std::to_string(op) + (in_place ? ", in place" : "") + (same ? ", same buffer" : "") +
           ", scales " + std::to_string(prescale) + " and " + std::to_string(postscale) +
           ", compression " + std::to_string(compression);
  }
};

/// Performs the call. Sends and receives go round in a ring, so only the sends are on a stream.
inline int perform(dtrain_context* context, const ApiCall& call, dtrain_buffers buffers,
                   const dtrain_op_options* options, dtrain_error* error) {
  const int size = dtrain_size(context);
  const int root = size - 1;
  switch (call.kind) {
    case OperationKind::all_reduce:
      return dtrain_all_reduce(context, buffers, call.op, options, error);
    case OperationKind::broadcast:
      return dtrain_broadcast(context, buffers, root, options, error);
    case OperationKind::all_gather:
      return dtrain_all_gather(context, buffers, options, error);
    case OperationKind::reduce_scatter:
      return dtrain_reduce_scatter(context, buffers, call.op, options, error);
    case OperationKind::reduce:
      return dtrain_reduce(context, buffers, call.op, root, options, error);
    case OperationKind::gather:
      return dtrain_gather(context, buffers, root, options, error);
    case OperationKind::scatter:
      return dtrain_scatter(context, buffers, root, options, error);
    case OperationKind::all_to_all:
      return dtrain_all_to_all(context, buffers, options, error);
    default:
      break;
  }
  const int next = (dtrain_rank(context) + 1) % size;
  const int before = (dtrain_rank(context) + size - 1) % size;
  dtrain_work* const sent = dtrain_send_async(
      context, {buffers.input, nullptr, buffers.count, buffers.type}, next, options, error);
  const int received = dtrain_recv(context, {nullptr, buffers.output, buffers.count, buffers.type},
                                   before, nullptr, error);
  const int status = dtrain_work_wait(sent, -1, nullptr);
  dtrain_work_free(sent);
  return received == DTRAIN_OK ? status : received;
}

/// Returns the output of the call on memory of the host.
inline Elements result_on_host(dtrain_context* context, const ApiCall& call) {
  const int rank = dtrain_rank(context);
  const int size = dtrain_size(context);
  Elements output = call.make(call.bytes(call.parts_out(size)), rank + 100);
  const Elements input = call.make(call.bytes(call.parts_in(size)), rank);
  const std::byte* const from = call.same ? output.data() : input.data();
  const dtrain_buffers buffers = {call.in_place ? nullptr : from, output.data(), call.count,
                                  call.type};
  const dtrain_op_options options = call.options();
  dtrain_error error = new_error();
  CHECK_MESSAGE(perform(context, call, buffers, &options, &error) == DTRAIN_OK, call.text(), ": ",
                error.text);
  return output;
}

/// The same on memory of the stream's device. Gives the operation the stream if that is wanted.
inline Elements result_on_device(dtrain_context* context, const ApiCall& call, DeviceStream& stream,
                                 bool gives_stream) {
  const int rank = dtrain_rank(context);
  const int size = dtrain_size(context);
  const size_t bytes = call.bytes(call.parts_out(size));
  const DeviceBuffer output = on_device(stream, call.make(bytes, rank + 100));
  const DeviceBuffer input = on_device(stream, call.make(call.bytes(call.parts_in(size)), rank));
  const dtrain_op_options options = call.options(gives_stream ? &stream : nullptr);
  const std::byte* const from = call.same ? output.at() : input.at();
  const dtrain_buffers buffers = {call.in_place ? nullptr : from, output.at(), call.count,
                                  call.type};
  dtrain_error error = new_error();
  CHECK_MESSAGE(perform(context, call, buffers, &options, &error) == DTRAIN_OK, call.text(), ": ",
                error.text);
  return values_of<std::byte>(stream, output, bytes);
}

}  // namespace dt
