#include "comm/named/bucket.h"

#include "base/kernels/copy.h"
#include "base/kernels/scale.h"

#include <cassert>
#include <utility>

namespace dt {

namespace {

void copy_scaled(const OperationRequest& request, double factor, std::byte* to,
                 const std::byte* from) {
  if (factor == 1) {
    copy_array(to, from, bytes_of(request));
  } else {
    Scale(request.type, factor).apply(to, from, request.count);
  }
}

/// The input of a call that stands in for a rank is the identity, which has no scale.
double input_factor(const OperationRequest& request) {
  return request.terms && !request.scaled_input ? request.terms->prescale : 1;
}

}  // namespace

Bucket::Bucket(std::vector<std::shared_ptr<Operation>> members, int average_over)
    : members_(std::move(members)), average_over_(average_over) {
  assert(!members_.empty());
}

OperationRequest Bucket::request(uint32_t group, WorkMemory& memory) {
  const OperationRequest& first = members_.front()->request;
  OperationRequest all = first;
  all.group = group;
  all.name.clear();
  all.timeout = Duration::zero();
  all.steps.reset();
  if (all.terms) {
    // The ranks have compared the shapes. One that has joined has none.
    all.terms->has_shape = false;
    all.terms->shape.clear();
  }
  if (average_over_ > 0) {
    // distribute() makes an average of the sum, and scales it then.
    all.reduce = ReduceOp::sum;
    all.terms->postscale = 1;
  }
  if (members_.size() == 1) return all;
  const size_t bytes = element_bytes(first.type);
  const Compression compression = all.terms ? all.terms->compression : Compression::none;
  all.terms.reset();
  if (compression != Compression::none) all.terms = OperationTerms{.compression = compression};
  all.count = 0;
  for (const auto& member : members_)
    all.count += member->request.count;
  std::byte* to = memory.reserve(all.count * bytes);
  all.input = all.output = to;
  sums_ = to;
  for (const auto& member : members_) {
    const OperationRequest& request = member->request;
    copy_scaled(request, input_factor(request), to, static_cast<const std::byte*>(request.input));
    to += request.count * bytes;
  }
  return all;
}

void Bucket::distribute(ScalingRank self) {
  const std::byte* from = sums_;
  for (const auto& member : members_) {
    const OperationRequest& request = member->request;
    if (sums_ != nullptr) {
      // divide_result() scales an average over some of the ranks.
      const double factor = request.terms && average_over_ == 0 ? request.terms->postscale : 1;
      copy_scaled(request, factor, static_cast<std::byte*>(request.output), from);
      from += bytes_of(request);
    }
    if (average_over_ > 0) divide_result(request, self, average_over_);
  }
}

}  // namespace dt
