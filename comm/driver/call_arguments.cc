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
  request.name.assign(name);
  request.timeout = timeout;
  request.counts.assign(counts.begin(), counts.end());
  request.algorithm.reset();
  request.steps.reset();
  request.result = result;
}

}  // namespace dt
