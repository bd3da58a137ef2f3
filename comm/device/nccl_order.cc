#include "comm/device/nccl_order.h"

#include "base/format.h"

namespace dt {

std::string NcclOrder::next_call_name(const std::string& name) {
  return format("{}{}NCCL call {}", name, name.empty() ? "" : ", ", ++calls_);
}

}  // namespace dt
