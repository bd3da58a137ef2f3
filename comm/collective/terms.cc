#include "comm/collective/terms.h"

#include "base/format.h"
#include "base/kernels/scale.h"
#include "base/text.h"
#include "comm/collective/compression.h"
#include "comm/collective/reduce.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <string_view>

namespace dt {

namespace {

/// FNV-1a over the bytes of a number, 64 bits.
uint64_t added(uint64_t hash, uint64_t number) {
  for (int byte = 0; byte < 8; ++byte, number >>= 8)
    hash = (hash ^ (number & 0xff)) * 1099511628211U;
  return hash;
}

Result<> check_scale(std::string_view which, double factor) {
  if (std::isfinite(factor)) return {};
  return fail(Errc::input, format("the {} is {}; give a finite number", which, factor));
}

/// The product of the dimensions; none when it exceeds `most`.
std::optional<uint64_t> elements_of(const std::vector<uint64_t>& shape, uint64_t most) {
  uint64_t elements = 1;
  for (const uint64_t size : shape)
    if (size == 0) return 0;
  for (const uint64_t size : shape) {
    if (size > most / elements) return std::nullopt;
    elements *= size;
  }
  return elements;
}

Result<> check_shape(const OperationRequest& request) {
  const std::vector<uint64_t>& shape = request.terms->shape;
  if (request.kind == OperationKind::barrier)
    return fail(Errc::input, "a barrier has no shape; leave it NULL");
  if (shape.size() > OperationTerms::dimensions_max) {
    return fail(Errc::input, format("the shape has {} dimensions; at most {} are possible",
                                    shape.size(), OperationTerms::dimensions_max));
  }
  const uint64_t count =
      std::accumulate(request.counts.begin(), request.counts.end(), uint64_t{request.count});
  const uint64_t elements = count / bytes_of_opaque(*request.terms);
  if (elements_of(shape, elements) == elements) return {};
  return fail(Errc::input, format("the shape {} does not have the {} elements of the call",
                                  shape_text(request.type, *request.terms), elements));
}

}  // namespace

bool has_result(const OperationRequest& request, ScalingRank self) {
  return request.kind != OperationKind::reduce || request.peer == self.rank;
}

Result<> check_terms(const OperationRequest& request) {
  const OperationTerms& terms = *request.terms;
  TRY(check_scale("prescale", terms.prescale));
  TRY(check_scale("postscale", terms.postscale));
  if (terms.scales() && !reduces(request.kind)) {
    return fail(Errc::input, format("{} has no prescale and no postscale; only operations that "
                                    "reduce have them",
                                    kind_name(request.kind)));
  }
  if (terms.average_active && (!reduces(request.kind) || request.reduce != ReduceOp::average)) {
    return fail(Errc::input, "only an average can be over the ranks that have not joined");
  }
  TRY(check_compression(request));
  if (terms.element_bytes > 0 && request.kind == OperationKind::barrier)
    return fail(Errc::input, "a barrier has no elements; leave dtrain_op_options.element NULL");
  if (terms.element_bytes > 0 && reduces(request.kind)) {
    return fail(Errc::input, format("{} adds its elements, but those of \"{}\" are opaque",
                                    kind_name(request.kind), printable(terms.element)));
  }
  if (terms.scales() && request.type == ElementType::boolean)
    return fail(Errc::input, "bool has no prescale and no postscale");
  return terms.has_shape ? check_shape(request) : Result<>{};
}

OperationTerms compared_terms(const OperationRequest& request) {
  OperationTerms terms = request.terms.value_or(OperationTerms());
  if (has_own_counts(request.kind) && !terms.shape.empty()) terms.shape.front() = any_size;
  return terms;
}

uint64_t terms_hash(const OperationRequest& request) {
  const OperationTerms& terms = *request.terms;
  uint64_t hash = added(14695981039346656037U, std::bit_cast<uint64_t>(terms.prescale));
  hash = added(hash, std::bit_cast<uint64_t>(terms.postscale));
  hash = added(hash, terms.has_shape ? terms.shape.size() : any_size);
  hash = added(hash, terms.average_active ? 1 : 0);
  hash = added(hash, static_cast<uint64_t>(terms.compression));
  hash = added(hash, terms.parts);
  hash = added(hash, static_cast<uint64_t>(terms.memory));
  if (terms.element_bytes > 0) {
    hash = added(hash, terms.element_bytes);
    for (const char c : terms.element)
      hash = added(hash, static_cast<unsigned char>(c));
  }
  if (const Quorum& quorum = terms.quorum; quorum.ranks > 0) {
    for (const uint32_t field : {quorum.ranks, quorum.deadline_ms, quorum.behind_max})
      hash = added(hash, field);
    hash = added(hash, quorum.carries_late ? 1 : 0);
  }
  const bool skips_first = has_own_counts(request.kind);
  for (size_t i = 0; i < terms.shape.size(); ++i)
    hash = added(hash, i == 0 && skips_first ? any_size : terms.shape[i]);
  return hash;
}

std::string element_text(ElementType type, const OperationTerms& terms) {
  return terms.element_bytes == 0 ? std::string(element_name(type)) : printable(terms.element);
}

std::string shape_text(ElementType type, const OperationTerms& terms) {
  std::string text = element_text(type, terms) + '[';
  for (size_t i = 0; i < terms.shape.size(); ++i) {
    text += i == 0 ? "" : ", ";
    text += terms.shape[i] == any_size ? "*" : std::to_string(terms.shape[i]);
  }
  return text + ']';
}

void scale_input(OperationRequest& request, ScalingRank self) {
  const double factor = request.terms->prescale;
  if (factor == 1 || request.scaled_input) return;
  const bool scatters = request.kind == OperationKind::reduce_scatter;
  const size_t count = request.count * (scatters ? static_cast<size_t>(self.size) : 1);
  const auto* input = static_cast<const std::byte*>(request.input);
  auto* to = static_cast<std::byte*>(request.output);
  // The steps of a program's own algorithm were made for two buffers. They may write the output
  // before they read the input.
  const bool may_overlap = request.kind == OperationKind::all_reduce && !request.steps;
  const bool one_buffer = request.input == request.output && has_result(request, self);
  const bool into_output = may_overlap || (one_buffer && !scatters);
  if (!into_output) {
    request.scaled_input =
        std::make_shared_for_overwrite<std::byte[]>(count * element_bytes(request.type));
    to = request.scaled_input.get();
  }
  Scale(request.type, factor).apply(to, input, count);
  request.input = to;
}

void scale_result(const OperationRequest& request, ScalingRank self) {
  const double factor = request.terms->postscale;
  if (factor == 1 || !has_result(request, self)) return;
  auto* output = static_cast<std::byte*>(request.output);
  Scale(request.type, factor).apply(output, output, request.count);
}

void divide_result(const OperationRequest& request, ScalingRank self, int divisor) {
  if (!has_result(request, self)) return;
  auto* output = static_cast<std::byte*>(request.output);
  average_over(request.type, output, request.count, divisor);
  if (request.terms) scale_result(request, self);
}

}  // namespace dt
