// A worker that makes calls of each kind, and checks every bit of their results.
//
//    exact_worker all|large COUNT…
//
// The mode `all` runs each kind, type, reduction and placement of the memory. Inputs are whole
// numbers times a power of two, so every order of additions is exact. The mode `large` runs a few
// types, and random numbers, too. On one host, their sums are those in the order of the ranks.
// Between hosts, they are near them, and have the same bits on every rank. Rank 0 prints the number
// of calls.
#include "comm/collective/reduce.h"
#include "tests/programs/played_call.h"

#include <cstdlib>
#include <functional>
#include <iostream>
#include <span>
#include <string_view>

namespace dt {
namespace {

dtrain_error no_error() {
  dtrain_error error = {};
  error.struct_size = sizeof error;
  return error;
}

/// Element i of a rank's random input, between -2 and 2. Their exponents differ, so that sums are
/// rounded.
double random_value(size_t i, int rank) {
  uint64_t bits = (i * 1'000 + static_cast<size_t>(rank) + 1) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93U;
  const double value = static_cast<double>(bits >> 40) / (1 << 22) - 2.0;
  return std::ldexp(value, -static_cast<int>(bits & 15));
}

double value_at(ElementType type, const std::byte* at) {
  const auto get = [at](auto element) {
    std::memcpy(&element, at, sizeof element);
    return element;
  };
  switch (type) {
    case ElementType::float16:
      return to_float(get(Float16()));
    case ElementType::bfloat16:
      return to_float(get(BFloat16()));
    case ElementType::float32:
      return get(0.0F);
    default:
      return get(0.0);
  }
}

class ExactWorker {
 public:
  explicit ExactWorker(dtrain_context* world)
      : world_(world), self_{dtrain_rank(world), dtrain_size(world)} {}

  bool run(std::string_view mode, std::span<const size_t> counts);

 private:
  bool play(Call call);
  bool play_types(OperationKind kind, size_t count, std::span<const ElementType> types);
  bool play_random(OperationKind kind, ElementType type, size_t count);
  bool is_near(PlayedCall& call, size_t first);
  bool equal_on_all(PlayedCall& call);
  bool blame(const Call& call, const std::string& what) const;

  dtrain_context* world_;
  GroupPlace self_;
  int calls_ = 0;
};

bool ExactWorker::blame(const Call& call, const std::string& what) const {
  std::cerr << "rank " << self_.rank << ", call " << calls_ << ": " << kind_name(call.kind) << ' '
            << element_name(call.type) << '[' << call.count << "] " << reduce_name(call.reduce)
            << ' ' << what << std::endl;
  return false;
}

bool ExactWorker::play(Call call) {
  for (int number = 0; number < placement_count; ++number) {
    const auto placement = static_cast<BufferPlacement>(number);
    if (!allows(call.kind, placement)) continue;
    ++calls_;
    call.root = calls_ % self_.size;
    call.salt = static_cast<size_t>(calls_) % 101;
    call.exponent = calls_ % 9 - 4;
    PlayedCall played(call, self_, placement);
    dtrain_error error = no_error();
    if (played.run(world_, error) != DTRAIN_OK) return blame(call, error.text);
    const std::string fault = played.fault();
    if (!fault.empty()) return blame(call, fault);
  }
  return true;
}

bool ExactWorker::play_types(OperationKind kind, size_t count, std::span<const ElementType> types) {
  for (const ElementType type : types)
    for (int reduce = 0; reduce < (reduces(kind) ? 5 : 1); ++reduce)
      if (has_reduction(type, static_cast<ReduceOp>(reduce)) &&
          !play({.kind = kind,
                 .type = type,
                 .reduce = static_cast<ReduceOp>(reduce),
                 .count = count}))
        return false;
  return true;
}

/// Compares with the sum in float64, within its rounding. On one host, with the same sum in float32
/// (or float64), bit by bit.
bool ExactWorker::is_near(PlayedCall& call, size_t first) {
  const ElementType type = call.call().type;
  const size_t bytes = element_bytes(type);
  const bool one_host = dtrain_local_size(world_) == self_.size;
  const double unit = type == ElementType::float64   ? 0x1p-52
                      : type == ElementType::float32 ? 0x1p-23
                                                     : 0x1p-7;
  for (size_t i = 0; i < call.call().count; ++i) {
    double wide = 0;
    double magnitude = 0;
    float narrow = 0;
    for (int rank = 0; rank < self_.size; ++rank) {
      std::byte rounded[8];
      store(type, rounded, random_value(first + i, rank));
      const double value = value_at(type, rounded);
      wide += value;
      magnitude += std::abs(value);
      narrow = rank == 0 ? static_cast<float>(value) : narrow + static_cast<float>(value);
    }
    const std::byte* result = call.output() + i * bytes;
    std::byte wanted[8];
    store(type, wanted, type == ElementType::float64 ? wide : narrow);
    if (one_host && std::memcmp(result, wanted, bytes) != 0) return false;
    if (std::abs(value_at(type, result) - wide) > magnitude * unit * self_.size) return false;
  }
  return true;
}

/// True when the output has the same bits on every rank.
bool ExactWorker::equal_on_all(PlayedCall& call) {
  const size_t bytes = call.call().count * element_bytes(call.call().type);
  std::vector<uint8_t> all(bytes * static_cast<size_t>(self_.size));
  dtrain_error error = no_error();
  const dtrain_buffers buffers = {
      .input = call.output(), .output = all.data(), .count = bytes, .type = DTRAIN_UINT8};
  if (dtrain_all_gather(world_, buffers, nullptr, &error) != DTRAIN_OK) return false;
  for (size_t at = bytes; at < all.size(); at += bytes)
    if (!std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(bytes),
                    all.begin() + static_cast<std::ptrdiff_t>(at)))
      return false;
  return true;
}

bool ExactWorker::play_random(OperationKind kind, ElementType type, size_t count) {
  ++calls_;
  PlayedCall played({.kind = kind, .type = type, .count = count}, self_, BufferPlacement::separate);
  const size_t elements = input_count(played.call(), self_.rank, self_.size);
  for (size_t i = 0; i < elements; ++i)
    store(type, played.input() + i * element_bytes(type), random_value(i, self_.rank));
  dtrain_error error = no_error();
  if (played.run(world_, error) != DTRAIN_OK) return blame(played.call(), error.text);
  const bool scatters = kind == OperationKind::reduce_scatter;
  if (!is_near(played, scatters ? static_cast<size_t>(self_.rank) * count : 0))
    return blame(played.call(), "has a wrong sum of random numbers");
  if (!scatters && !equal_on_all(played)) return blame(played.call(), "differs between ranks");
  return true;
}

bool ExactWorker::run(std::string_view mode, std::span<const size_t> counts) {
  static constexpr ElementType all_types[] = {
      ElementType::int8,        ElementType::uint8,       ElementType::int16,
      ElementType::uint16,      ElementType::boolean,     ElementType::int32,
      ElementType::uint32,      ElementType::int64,       ElementType::uint64,
      ElementType::float8_e4m3, ElementType::float8_e5m2, ElementType::float16,
      ElementType::bfloat16,    ElementType::float32,     ElementType::float64};
  const std::span types(all_types);
  const bool large = mode == "large";
  for (const size_t count : counts) {
    for (int kind = 0; kind <= static_cast<int>(OperationKind::barrier); ++kind)
      if (!play_types(static_cast<OperationKind>(kind), count, large ? types.last(3) : types))
        return false;
    for (const ElementType type : types.last(large ? 4 : 0))
      if (!play_random(OperationKind::all_reduce, type, count) ||
          !play_random(OperationKind::reduce_scatter, type, count))
        return false;
  }
  if (self_.rank == 0) std::cout << calls_ << " calls were exact" << std::endl;
  return true;
}

int run(std::string_view mode, std::span<const size_t> counts) {
  dtrain_error error = no_error();
  dtrain_context* world = dtrain_init(nullptr, &error);
  if (world == nullptr) {
    std::cerr << error.text << std::endl;
    return 5;
  }
  const bool exact = ExactWorker(world).run(mode, counts);
  dtrain_finalize(world);
  return exact ? 0 : 4;
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::vector<size_t> counts;
  for (const char* word : std::span(argv, static_cast<size_t>(argc)).subspan(2))
    counts.push_back(static_cast<size_t>(std::atoll(word)));
  return dt::run(argv[1], counts);
}
