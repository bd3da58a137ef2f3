#include "comm/collective/compression.h"

#include "base/format.h"
#include "base/kernels/half_cast.h"
#include "comm/collective/reduce.h"

#include <array>
#include <utility>

namespace dt {

namespace {

constexpr std::array<std::string_view, compression_count> compression_names = {"none", "float16",
                                                                               "bfloat16"};

ElementType half_of(Compression compression) {
  return compression == Compression::float16 ? ElementType::float16 : ElementType::bfloat16;
}

void compress_input(OperationRequest& request, ScalingRank self) {
  if (request.terms->compression == Compression::none || request.compressed) return;
  const ElementType half = half_of(request.terms->compression);
  const bool scatters = request.kind == OperationKind::reduce_scatter;
  const size_t inputs = request.count * (scatters ? static_cast<size_t>(self.size) : 1);
  // A registered algorithm has made its steps for one buffer, or for two.
  const bool one_buffer = request.input == request.output;
  const size_t elements = one_buffer ? inputs : inputs + request.count;
  Compressed compressed{
      .type = request.type,
      .output = request.output,
      .memory = std::make_shared_for_overwrite<std::byte[]>(elements * element_bytes(half))};
  std::byte* memory = compressed.memory.get();
  HalfCaster(request.type, half)
      .narrow(memory, static_cast<const std::byte*>(request.input), inputs);
  request.type = half;
  request.input = memory;
  request.output = one_buffer ? memory : memory + inputs * element_bytes(half);
  request.compressed = std::move(compressed);
}

void expand_result(OperationRequest& request, ScalingRank self) {
  if (!request.compressed) return;
  const Compressed compressed = *std::exchange(request.compressed, std::nullopt);
  const ElementType half = std::exchange(request.type, compressed.type);
  const auto* result = static_cast<const std::byte*>(request.output);
  request.output = compressed.output;
  if (!has_result(request, self)) return;
  HalfCaster(request.type, half)
      .widen(static_cast<std::byte*>(request.output), result, request.count);
}

}  // namespace

std::string_view compression_name(Compression compression) {
  return compression_names.at(static_cast<size_t>(compression));
}

Result<> check_compression(const OperationRequest& request) {
  if (request.terms->compression == Compression::none) return {};
  if (!reduces(request.kind)) {
    return fail(Errc::input, format("{} has no compression; only operations that reduce have one",
                                    kind_name(request.kind)));
  }
  if (request.type == ElementType::float32 || request.type == ElementType::float64) return {};
  return fail(Errc::input, format("{} has no compression; only float32 and float64 have one",
                                  element_name(request.type)));
}

void prepare_input(OperationRequest& request, ScalingRank self) {
  scale_input(request, self);
  compress_input(request, self);
}

void complete_result(OperationRequest& request, ScalingRank self) {
  expand_result(request, self);
  scale_result(request, self);
  if (request.terms->element_bytes == 0 || !request.result) return;
  for (size_t& count : request.result->counts)
    count /= request.terms->element_bytes;
}

}  // namespace dt
