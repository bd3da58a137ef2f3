#include "comm/engine/tensor_list.h"

#include "base/format.h"

namespace dt {

std::vector<std::shared_ptr<Operation>> parts_of(const std::shared_ptr<Operation>& list,
                                                 const std::string& name) {
  const OperationRequest& whole = list->request;
  std::vector<std::shared_ptr<Operation>> parts;
  parts.reserve(whole.tensors.size());
  for (const TensorOfList& tensor : whole.tensors) {
    const auto& part = parts.emplace_back(std::make_shared<Operation>());
    part->submitted = list->submitted;
    part->list = list;
    part->part = parts.size() - 1;
    OperationRequest& request = part->request;
    request.kind = whole.kind;
    request.type = tensor.type;
    request.reduce = whole.reduce;
    request.group = whole.group;
    request.count = tensor.count;
    request.input = tensor.input;
    request.output = tensor.output;
    request.name = tensor.name.empty()
                       ? format("{}[{}/{}]", name, parts.size(), whole.tensors.size())
                       : tensor.name;
    request.timeout = whole.timeout;
    request.blocks = whole.blocks;
    request.priority = whole.priority;
    request.terms = whole.terms;
    request.agreement = whole.agreement;
    request.follows_agreement = whole.follows_agreement;
    if (!tensor.has_shape) continue;
    if (!request.terms) request.terms.emplace();
    request.terms->has_shape = true;
    request.terms->shape = tensor.shape;
  }
  list->parts_left = parts.size();
  return parts;
}

}  // namespace dt
