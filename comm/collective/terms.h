#pragma once

#include "comm/schedule/operation_request.h"

#include <cstdint>
#include <string>

namespace dt {

/// Stands for a first dimension that may differ between the ranks.
inline constexpr uint64_t any_size = ~uint64_t{0};

/// Fails with Errc::input when the terms do not fit the rest of the request.
Result<> check_terms(const OperationRequest& request);
/// Returns the terms as the ranks compare them. Where ranks have own counts, the first dimension is
/// any_size.
OperationTerms compared_terms(const OperationRequest& request);
/// Returns a number that is equal for equal compared terms. Allocates nothing.
uint64_t terms_hash(const OperationRequest& request);
/// "float32[2, 3]"; "*" stands for any size.
std::string shape_text(ElementType type, const OperationTerms& terms);
/// "float32"; the name of elements without arithmetic.
std::string element_text(ElementType type, const OperationTerms& terms);
/// Returns how many bytes a count stands for that the caller gave as one: 1 for elements of a type.
inline size_t bytes_of_opaque(const OperationTerms& terms) {
  return terms.element_bytes == 0 ? 1 : terms.element_bytes;
}

/// A rank and the size of its group.
struct ScalingRank {
  int rank = 0;
  int size = 1;
};
/// True for a rank that gets a result of the reduction.
bool has_result(const OperationRequest& request, ScalingRank self);
/// Multiplies the input of a reduction by its prescale, before it begins. The input then lies in
/// the output where that is allowed, else in a copy. Does nothing with a scaled_input.
void scale_input(OperationRequest& request, ScalingRank self);
/// Multiplies the result of a reduction by its postscale.
void scale_result(const OperationRequest& request, ScalingRank self);
/// Makes an average of a result that is a sum so far, and multiplies it by its postscale.
void divide_result(const OperationRequest& request, ScalingRank self, int divisor);

}  // namespace dt
