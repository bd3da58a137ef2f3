#include "comm/named/bucket.h"

#include <cassert>
#include <cstring>
#include <utility>

namespace dt {

Bucket::Bucket(std::vector<std::shared_ptr<Operation>> members, int average_over)
    : members_(std::move(members)), average_over_(average_over) {
  assert(!members_.empty());
}

OperationRequest Bucket::request(uint32_t group) {
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
  memory_ = std::make_unique_for_overwrite<std::byte[]>(all.count * bytes);
  all.input = all.output = memory_.get();
  std::byte* to = memory_.get();
  for (const auto& member : members_) {
    const size_t size = member->request.count * bytes;
    std::memcpy(to, member->request.input, size);
    to += size;
  }
  return all;
}

void Bucket::distribute(ScalingRank self) {
  const std::byte* from = memory_.get();
  for (const auto& member : members_) {
    const OperationRequest& request = member->request;
    const size_t size = request.count * element_bytes(request.type);
    if (memory_) {
      std::memcpy(request.output, from, size);
      from += size;
    }
    if (average_over_ > 0) divide_result(request, self, average_over_);
  }
}

}  // namespace dt
