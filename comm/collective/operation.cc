#include "comm/collective/operation.h"

#include "base/format.h"
#include "base/text.h"
#include "comm/collective/descriptor.h"
#include "comm/collective/reduce.h"
#include "comm/collective/terms.h"
#include "comm/collective/uneven_parts.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

namespace dt {

namespace {

/// The elements that this rank's buffers hold.
struct Sizes {
  size_t input = 0;
  size_t output = 0;
};

size_t sum_of_counts(const OperationRequest& request) {
  return std::accumulate(request.counts.begin(), request.counts.end(), size_t{0});
}

/// Requires that the size of a whole buffer can be computed.
Sizes sizes_of(const OperationRequest& request, int rank, int size) {
  const size_t part = request.count;
  const size_t whole = part * static_cast<size_t>(size);
  const bool at_root = request.peer == rank;
  switch (request.kind) {
    case OperationKind::all_reduce:
      return {.input = part, .output = part};
    case OperationKind::broadcast:
      return at_root ? Sizes{.input = part} : Sizes{.output = part};
    case OperationKind::reduce:
      return {.input = part, .output = at_root ? part : 0};
    case OperationKind::all_gather:
      return {.input = part, .output = whole};
    case OperationKind::reduce_scatter:
      if (has_uneven_parts(request)) return {.input = sum_of_counts(request)};
      return {.input = whole, .output = part};
    case OperationKind::gather:
      return {.input = part, .output = at_root ? whole : 0};
    case OperationKind::scatter:
      return at_root ? Sizes{.input = whole} : Sizes{.output = part};
    case OperationKind::all_to_all:
      return {.input = whole, .output = whole};
    case OperationKind::all_to_all_v:
      return {.input = sum_of_counts(request)};
    case OperationKind::all_gather_v:
    case OperationKind::send:
      return {.input = part};
    case OperationKind::receive:
      return {.output = part};
    case OperationKind::barrier:
    case OperationKind::join:
      break;
  }
  return {};
}

Result<> check_buffer(const char* which, const void* buffer, ElementType type) {
  if (buffer == nullptr) return fail(Errc::input, format("the {} is null", which));
  // Every element's alignment is its size, a power of two.
  if ((reinterpret_cast<uintptr_t>(buffer) & (element_bytes(type) - 1)) != 0)
    return fail(Errc::input, format("the {} is not aligned for {}", which, element_name(type)));
  return {};
}

Result<> check_peer(const OperationRequest& request, int rank, int size) {
  const bool rooted = is_rooted(request.kind);
  if (request.peer < 0 || request.peer >= size) {
    return fail(Errc::input, format("{} {} is not one of the ranks 0 to {}",
                                    rooted ? "root" : "peer", request.peer, size - 1));
  }
  if (!rooted && request.peer == rank)
    return fail(Errc::input, format("rank {} is this rank itself", rank));
  return {};
}

/// Checks that the bytes of a buffer with a part for each rank can be addressed. Uneven parts take
/// the place of the largest.
Result<> check_count(const OperationRequest& request, int size) {
  // These fit with any number of ranks. The divisions below take as long as the rest of a check.
  constexpr size_t always_fits = size_t{1} << 28;
  if (request.count < always_fits && request.counts.empty()) return {};
  const size_t bytes_max = static_cast<size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  size_t left = bytes_max / element_bytes(request.type);
  const size_t part = has_uneven_parts(request) ? std::ranges::max(request.counts) : request.count;
  if (part > left / static_cast<size_t>(size))
    return fail(Errc::input, shape_text(request.type, part) + " is too large");
  for (const size_t count : request.counts) {
    if (count > left) {
      return fail(Errc::input, format("the counts are too large: {} does not fit behind the others",
                                      shape_text(request.type, count)));
    }
    left -= count;
  }
  return {};
}

/// Checks what operations with own counts need beside their buffers.
Result<> check_counts(const OperationRequest& request, int size) {
  const bool uneven = has_uneven_parts(request);
  const bool split = request.kind == OperationKind::all_to_all_v || uneven;
  if (split && request.counts.size() != static_cast<size_t>(size)) {
    return fail(Errc::input, format("there are {} counts for {} ranks; give one for each rank",
                                    request.counts.size(), size));
  }
  if ((has_own_counts(request.kind) || uneven) && !request.result)
    return fail(Errc::input, "there is no place for the result");
  return {};
}

Result<> check_elements(const OperationRequest& request, int rank, int size) {
  if (!known(request.type)) {
    return fail(Errc::input, format("there is no element type {}", static_cast<int>(request.type)));
  }
  TRY(check_counts(request, size));
  TRY(check_count(request, size));
  const Sizes sizes = sizes_of(request, rank, size);
  if (sizes.input > 0) TRY(check_buffer("input", request.input, request.type));
  if (sizes.output > 0) TRY(check_buffer("output", request.output, request.type));
  return {};
}

Result<> check_join(const OperationRequest& request) {
  if (request.name.empty() && !request.terms) return {};
  return fail(Errc::input, "a join has no name, shape or scale; leave them NULL or 0");
}

Result<> check_reduce(const OperationRequest& request) {
  if (!known(request.reduce))
    return fail(Errc::input, format("there is no reduction {}", static_cast<int>(request.reduce)));
  if (request.reduce == ReduceOp::adasum && request.kind != OperationKind::all_reduce) {
    return fail(Errc::input,
                format("{} has no adasum; only all_reduce has one", kind_name(request.kind)));
  }
  if (request.reduce == ReduceOp::adasum && !is_floating(request.type)) {
    return fail(Errc::input, format("there is no adasum of {}; only floats have one",
                                    element_name(request.type)));
  }
  if (request.reduce == ReduceOp::average && request.type == ElementType::boolean) {
    return fail(
        Errc::input,
        "there is no average of bool; use sum or max for \"or\", product or min for \"and\"");
  }
  return {};
}

void note_end(Operation& operation);

/// A part of a list has ended.
void end_part(const Operation& part, Operation& list) {
  const bool first_failure = !*part.outcome && !list.failed_part;
  if (first_failure) list.blamed_rank = part.blamed_rank;
  try {
    if (first_failure) list.failed_part = part.outcome->error();
  } catch (const std::bad_alloc&) {
    list.failed_part = Error{part.outcome->error().code, std::string(out_of_memory)};
  }
  // The outcome is there already where memory has run out before all parts were queued.
  if (--list.parts_left > 0 || list.outcome) return;
  if (!list.failed_part) return succeed(list);
  list.outcome.emplace(fail(list.failed_part->code, std::move(list.failed_part->message)));
  note_end(list);
}

void note_end(Operation& operation) {
  if (operation.clock != nullptr) operation.times.ended = operation.clock();
  if (const auto list = std::move(operation.list)) end_part(operation, *list);
}

}  // namespace

std::string label(const Operation& operation) {
  const OperationRequest& r = called(operation.request);
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
  note_end(operation);
}

void end(Operation& operation, const OperationFailure& failure) {
  try {
    end_labelled(operation,
                 {failure.code, failure.blamed_rank, label(operation) + ": " + failure.reason});
  } catch (const std::bad_alloc&) {
    end_labelled(operation, {failure.code, failure.blamed_rank, std::string(out_of_memory)});
  }
}

void end_labelled(Operation& operation, const OperationFailure& failure) {
  assert(!operation.outcome);
  operation.outcome.emplace(fail(failure.code, failure.reason));
  operation.blamed_rank = failure.blamed_rank;
  note_end(operation);
}

CollectiveShape shape_of(const OperationRequest& request) {
  return {.kind = request.kind,
          .count = request.count,
          .root = request.peer,
          .element_bytes = element_bytes(request.type),
          .in_place = request.input == request.output};
}

Result<> check_request(const OperationRequest& request, int rank, int size) {
  if (request.kind > OperationKind::join)
    return fail(Errc::input, format("there is no operation {}", static_cast<int>(request.kind)));
  if (request.timeout < Duration::zero()) return fail(Errc::input, "the timeout is negative");
  if (request.kind == OperationKind::join) return check_join(request);
  if (request.kind == OperationKind::barrier)
    return request.terms ? check_terms(request) : Result<>{};
  if (is_rooted(request.kind) || !is_collective(request.kind)) TRY(check_peer(request, rank, size));
  TRY(check_elements(request, rank, size));
  if (request.terms) TRY(check_terms(request));
  return reduces(request.kind) ? check_reduce(request) : Result<>{};
}

}  // namespace dt
