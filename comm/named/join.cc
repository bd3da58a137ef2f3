#include "comm/named/join.h"

#include "base/format.h"
#include "base/kernels/identity.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace dt {

std::string obstacle_of_joined(const Descriptor& call, std::span<const int> joined) {
  if (!reduces(call.kind))
    return format("{} is impossible without data of all ranks", kind_name(call.kind));
  if (is_rooted(call.kind) && std::ranges::find(joined, call.root) != joined.end())
    return format("{} is impossible without its root", kind_name(call.kind));
  return "";
}

std::shared_ptr<Operation> joined_call(const Descriptor& call, int ranks) {
  assert(reduces(call.kind));
  auto operation = std::make_shared<Operation>();
  OperationRequest& request = operation->request;
  const size_t bytes = call.count * element_bytes(call.type);
  const bool scatters = call.kind == OperationKind::reduce_scatter;
  const size_t inputs = scatters ? static_cast<size_t>(ranks) : 1;
  request.kind = call.kind;
  request.type = call.type;
  request.reduce = call.reduce;
  request.peer = call.root;
  request.count = call.count;
  if (call.terms != OperationTerms()) request.terms = call.terms;
  request.scaled_input = std::make_shared_for_overwrite<std::byte[]>((inputs + 1) * bytes);
  std::byte* memory = request.scaled_input.get();
  fill_identity(call.type, call.reduce, memory, inputs * call.count);
  request.input = memory;
  request.output = memory + inputs * bytes;
  return operation;
}

void end_join(Operation& join, int last) {
  const auto rank = static_cast<int32_t>(last);
  OperationResult& result = *join.request.result;
  result.data = std::make_unique_for_overwrite<std::byte[]>(sizeof rank);
  std::memcpy(result.data.get(), &rank, sizeof rank);
  result.counts.assign(1, 1);
  succeed(join);
}

}  // namespace dt
