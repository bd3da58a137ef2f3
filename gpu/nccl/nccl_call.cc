#include "gpu/nccl/nccl_call.h"

#include "base/format.h"
#include "gpu/nccl/nccl_library.h"

#include <bit>

namespace dt {

namespace {

using Kind = NcclCall::Kind;

/// The first version with 8-bit floats.
constexpr int float8_version = 22403;

const char* text_of(Kind kind) {
  constexpr const char* names[] = {"all_reduce",     "reduce",     "broadcast", "all_gather",
                                   "reduce_scatter", "all_to_all", "gather",    "scatter",
                                   "send",           "receive"};
  return names[static_cast<size_t>(kind)];
}

bool has_peer(Kind kind) {
  return kind == Kind::reduce || kind == Kind::broadcast || kind >= Kind::gather;
}

/// True when this rank gives elements.
bool sends(const NcclCall& call, int rank) {
  if (call.kind == Kind::broadcast || call.kind == Kind::scatter) return call.peer == rank;
  return call.kind != Kind::receive;
}

/// True when this rank gets elements.
bool receives(const NcclCall& call, int rank) {
  if (call.kind == Kind::reduce || call.kind == Kind::gather) return call.peer == rank;
  return call.kind != Kind::send;
}

}  // namespace

Result<> check(const NcclCall& call, const NcclPlace& place) {
  if (has_peer(call.kind) && (call.peer < 0 || call.peer >= place.size)) {
    return fail(Errc::input, format("{}: rank {} is none of the {} ranks", text_of(call.kind),
                                    call.peer, place.size));
  }
  if (call.type >= NcclType::float8_e4m3 && place.version < float8_version) {
    return fail(Errc::unsupported,
                format("{}: NCCL {} has no 8-bit floats; they need {} or newer", text_of(call.kind),
                       nccl_version_text(place.version), nccl_version_text(float8_version)));
  }
  if (call.count == 0) return {};
  if ((sends(call, place.rank) && call.from == nullptr) ||
      (receives(call, place.rank) && call.to == nullptr))
    return fail(Errc::input, format("{}: a buffer is null", text_of(call.kind)));
  if (call.kind == Kind::all_to_all && call.from == call.to)
    return fail(Errc::input, "all_to_all: input and output are the same memory");
  return {};
}

const char* nccl_name(NcclCall::Kind kind) {
  constexpr const char* names[] = {
      "ncclAllReduce", "ncclReduce",   "ncclBroadcast", "ncclAllGather", "ncclReduceScatter",
      "ncclGroupEnd",  "ncclGroupEnd", "ncclGroupEnd",  "ncclSend",      "ncclRecv"};
  return names[static_cast<size_t>(kind)];
}

std::optional<NcclType> nccl_type(ElementType type) {
  switch (type) {
    case ElementType::int8:
      return NcclType::int8;
    case ElementType::uint8:
      return NcclType::uint8;
    case ElementType::int32:
      return NcclType::int32;
    case ElementType::uint32:
      return NcclType::uint32;
    case ElementType::int64:
      return NcclType::int64;
    case ElementType::uint64:
      return NcclType::uint64;
    case ElementType::float16:
      return NcclType::float16;
    case ElementType::bfloat16:
      return NcclType::bfloat16;
    case ElementType::float32:
      return NcclType::float32;
    case ElementType::float64:
      return NcclType::float64;
    case ElementType::int16:
    case ElementType::uint16:
    case ElementType::boolean:
    case ElementType::float8_e4m3:
    case ElementType::float8_e5m2:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<NcclType> nccl_moved_type(ElementType type) {
  return element_bytes(type) == 1 ? NcclType::uint8 : nccl_type(type);
}

std::optional<NcclOp> nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return NcclOp::sum;
    case ReduceOp::product:
      return NcclOp::product;
    case ReduceOp::min:
      return NcclOp::min;
    case ReduceOp::max:
      return NcclOp::max;
    case ReduceOp::average:
    case ReduceOp::adasum:
      return std::nullopt;
  }
  return std::nullopt;
}

bool nccl_averages(ElementType type, size_t ranks) {
  return std::has_single_bit(ranks) &&
         (type == ElementType::bfloat16 || type == ElementType::float32 ||
          type == ElementType::float64);
}

bool nccl_can_reduce(ElementType type, ReduceOp op) {
  const std::optional<NcclType> wanted = nccl_type(type);
  if (!wanted || !nccl_op(op)) return false;
  const bool is_float = *wanted >= NcclType::float16;  // the last of the numbers
  return !is_float || (op != ReduceOp::min && op != ReduceOp::max);
}

size_t nccl_bytes(NcclType type) {
  constexpr size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return bytes[static_cast<size_t>(type)];
}

}  // namespace dt
