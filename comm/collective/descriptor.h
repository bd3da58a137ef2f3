#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/schedule/operation_request.h"

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace dt {

/// The description of a collective call. The ranks compare it before any data moves. Fields that
/// the kind does not use keep their defaults.
struct Descriptor {
  OperationKind kind = OperationKind::barrier;
  ElementType type = ElementType::float32;
  ReduceOp reduce = ReduceOp::sum;
  int32_t root = 0;
  uint64_t count = 0;
  uint64_t name_hash = 0;  ///< of the whole name
  std::string name;        ///< its beginning, for messages
  OperationTerms terms = {};
  bool operator==(const Descriptor&) const = default;

  static Descriptor of(const OperationRequest& request);
};

/// Returns a number that is equal for the calls of two ranks when their descriptors are. Otherwise
/// the numbers differ, but for one case in 2^64. Allocates nothing.
uint64_t call_hash(const OperationRequest& request, uint64_t sequence);

/// How far a rank is in a collective when it sends its descriptor to rank 0.
enum class CallState : uint8_t {
  absent,   ///< it has not made the call
  waits,    ///< it begins after the verdict
  runs,     ///< it has begun, and has not ended for a while
  differs,  ///< another rank's call differs from its own
  passed,   ///< it is done, so the calls of all ranks were equal
};

/// A descriptor as it is sent to rank 0, with the time limit of its rank.
struct Arrival {
  uint64_t sequence = 0;  ///< of the collective
  Descriptor descriptor;
  Duration timeout = Duration::zero();    ///< zero: none
  Duration remaining = Duration::zero();  ///< of the timeout
  CallState state = CallState::waits;
};

void encode(const Descriptor& descriptor, Writer& writer);
/// Fails with Errc::protocol for numbers that no rank sends.
Result<Descriptor> decode_descriptor(Reader& reader);
Bytes encode(const Arrival& arrival);
Result<Arrival> decode_arrival(ByteSpan bytes);

/// Names are cut to this in descriptors: enough to recognise an operation.
inline constexpr size_t name_bytes_max = 96;
/// A number that two different names have in common by chance only.
uint64_t hash_of_name(std::string_view name);
/// "the name "grad"", "no name".
std::string quoted_name(std::string_view name);
/// How two names differ that are not equal, although their beginnings may be.
struct NameDifference {
  std::string one;
  std::string other;
};
NameDifference name_difference(std::string_view one, std::string_view other);

struct Mismatch {
  std::string text;  ///< `all_reduce #12 "g": rank 2 sent float32[100], others float32[101]`
  int blamed_rank = -1;
};

/// Returns "rank 3 (host b)" for the index of a descriptor.
using NameOfRank = std::function<std::string(int index)>;
/// Returns how the descriptors of `ranks` differ; none when they agree. The majority is right and
/// the others are named; by `name_of`, if there is one, where shapes differ. If two parts are
/// equal, the one with the first rank is right.
std::optional<Mismatch> compare(std::span<const Descriptor> descriptors, std::span<const int> ranks,
                                uint64_t sequence, const NameOfRank& name_of = {});

/// `all_reduce #12 "grad"`; without a number for sequence 0.
std::string collective_label(OperationKind kind, uint64_t sequence, std::string_view name);
/// "float32[100]".
std::string shape_text(ElementType type, uint64_t count);
/// "rank 3", "ranks 1, 3", "ranks 1, 2, 3, 4 and 5 more".
std::string ranks_text(std::span<const int> ranks);

}  // namespace dt
