#include "comm/engine/operation.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/engine/descriptor.h"
#include "comm/engine/reduce.h"

#include <cassert>
#include <limits>
#include <new>

namespace dt {

namespace {

struct Buffers {
  bool input = false;
  bool output = false;
  bool whole_group = false;  ///< one of them holds `count` elements for each rank
};

Buffers buffers_of(const OperationRequest& request, int rank) {
  switch (request.kind) {
    case OperationKind::all_reduce:
      return {.input = true, .output = true};
    case OperationKind::broadcast:
      return {.input = request.peer == rank, .output = request.peer != rank};
    case OperationKind::all_gather:
    case OperationKind::reduce_scatter:
      return {.input = true, .output = true, .whole_group = true};
    case OperationKind::send:
      return {.input = true};
    case OperationKind::receive:
      return {.output = true};
    case OperationKind::barrier:
      break;
  }
  return {};
}

Result<> check_buffer(const char* which, const void* buffer, ElementType type) {
  if (buffer == nullptr) return fail(Errc::input, format("the {} is null", which));
  // Every element's alignment is its size.
  if (reinterpret_cast<uintptr_t>(buffer) % element_bytes(type) != 0)
    return fail(Errc::input, format("the {} is not aligned for {}", which, element_name(type)));
  return {};
}

Result<> check_peer(const OperationRequest& request, int rank, int size) {
  const bool broadcast = request.kind == OperationKind::broadcast;
  if (request.peer < 0 || request.peer >= size) {
    return fail(Errc::input, format("{} {} is not one of the ranks 0 to {}",
                                    broadcast ? "root" : "peer", request.peer, size - 1));
  }
  if (!broadcast && request.peer == rank)
    return fail(Errc::input, format("rank {} is this rank itself", rank));
  return {};
}

Result<> check_elements(const OperationRequest& request, int rank, int size) {
  if (!known(request.type)) {
    return fail(Errc::input, format("there is no element type {}", static_cast<int>(request.type)));
  }
  const Buffers buffers = buffers_of(request, rank);
  const size_t ranks = buffers.whole_group ? static_cast<size_t>(size) : 1;
  const size_t bytes_max = static_cast<size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (request.count > bytes_max / element_bytes(request.type) / ranks)
    return fail(Errc::input, shape_text(request.type, request.count) + " is too large");
  if (request.count == 0) return {};
  if (buffers.input) TRY(check_buffer("input", request.input, request.type));
  if (buffers.output) TRY(check_buffer("output", request.output, request.type));
  return {};
}

Result<> check_reduce(const OperationRequest& request) {
  if (!known(request.reduce)) {
    return fail(Errc::input, format("there is no reduction {}", static_cast<int>(request.reduce)));
  }
  if (request.reduce == ReduceOp::average && !is_floating(request.type)) {
    return fail(Errc::input, format("average of {} is not supported; use sum, and divide",
                                    element_name(request.type)));
  }
  return {};
}

}  // namespace

bool is_collective(OperationKind kind) {
  return kind <= OperationKind::barrier;
}

std::string label(const Operation& operation) {
  const OperationRequest& r = operation.request;
  if (is_collective(r.kind) && operation.sequence > 0)
    return collective_label(r.kind, operation.sequence, r.name);
  std::string text(kind_name(r.kind));
  if (r.kind == OperationKind::send) text += format(" to rank {}", r.peer);
  if (r.kind == OperationKind::receive) text += format(" from rank {}", r.peer);
  return r.name.empty() ? text : text + format(" \"{}\"", printable(r.name));
}

Time deadline(const Operation& operation) {
  const Duration timeout = operation.request.timeout;
  if (timeout == Duration::zero() || timeout > Time::max() - operation.submitted)
    return Time::max();
  return operation.submitted + timeout;
}

void succeed(Operation& operation) {
  assert(!operation.outcome);
  operation.outcome.emplace();
}

void end(Operation& operation, const OperationFailure& failure) {
  assert(!operation.outcome);
  operation.blamed_rank = failure.blamed_rank;
  try {
    operation.outcome.emplace(fail(failure.code, label(operation) + ": " + failure.reason));
  } catch (const std::bad_alloc&) {
    operation.outcome.emplace(fail(failure.code, std::string(out_of_memory)));
  }
}

Result<> check_request(const OperationRequest& request, int rank, int size) {
  if (request.kind > OperationKind::receive)
    return fail(Errc::input, format("there is no operation {}", static_cast<int>(request.kind)));
  if (request.timeout < Duration::zero()) return fail(Errc::input, "the timeout is negative");
  if (request.kind == OperationKind::barrier) return {};
  if (request.kind == OperationKind::broadcast || !is_collective(request.kind))
    TRY(check_peer(request, rank, size));
  TRY(check_elements(request, rank, size));
  const bool reduces =
      request.kind == OperationKind::all_reduce || request.kind == OperationKind::reduce_scatter;
  return reduces ? check_reduce(request) : Result<>{};
}

}  // namespace dt
