#include "comm/driver/call_arguments.h"

namespace dt {

void CallArguments::fill(OperationRequest& request) const {
  request.kind = kind;
  request.type = type;
  request.reduce = reduce;
  request.group = group;
  request.peer = peer;
  request.count = count;
  request.input = input;
  request.output = output;
  if (!name.empty() || !request.name.empty()) request.name.assign(name);
  request.in_sequence = in_sequence;
  request.timeout = timeout;
  request.priority = priority;
  request.counts.assign(counts.begin(), counts.end());
  request.tensors.clear();
  if (!tensors.empty()) fill_tensors(request);
  request.algorithm.reset();
  request.steps.reset();
  request.result = result;
  request.follows_agreement = false;
  if (terms || request.terms) fill_terms(request);
}

void CallArguments::fill_tensors(OperationRequest& request) const {
  request.tensors.reserve(tensors.size());
  for (const CallTensor& tensor : tensors) {
    TensorOfList& filled = request.tensors.emplace_back();
    filled.type = tensor.type;
    filled.count = tensor.count;
    filled.input = tensor.input;
    filled.output = tensor.output;
    filled.has_shape = tensor.shape.has_value();
    if (tensor.shape) filled.shape.assign(tensor.shape->begin(), tensor.shape->end());
  }
}

void CallArguments::fill_terms(OperationRequest& request) const {
  request.scaled_input.reset();
  request.compressed.reset();
  if (!terms) return request.terms.reset();
  if (!request.terms) request.terms.emplace();
  OperationTerms& filled = *request.terms;
  filled.prescale = terms->prescale;
  filled.postscale = terms->postscale;
  filled.average_active = terms->average_active;
  filled.compression = terms->compression;
  filled.quorum = terms->quorum;
  filled.element.assign(terms->element);
  filled.element_bytes = terms->element_bytes;
  if (terms->element_bytes > 0) {
    request.count *= terms->element_bytes;
    for (size_t& of_part : request.counts)
      of_part *= terms->element_bytes;
  }
  filled.has_shape = terms->shape.has_value();
  filled.shape.clear();
  if (!terms->shape) return;
  // With assign(), the compiler would no longer inline that of the counts, in every call.
  for (const size_t size : *terms->shape)
    filled.shape.push_back(size);
}

}  // namespace dt
