#include "comm/device/abort_flag.h"

#include "gpu/kernels/system_order.cuh"

#include <new>

namespace dt {

Result<AbortFlag> AbortFlag::allocate(Device& device) {
  AbortFlag flag;
  flag.memory_ = TRY(device.allocate_pinned(sizeof(uint32_t)));
  new (flag.memory_.at()) uint32_t(0);
  return flag;
}

void AbortFlag::set() {
  auto* const flag = reinterpret_cast<uint32_t*>(memory_.at());
  if (flag != nullptr) SystemOrder::release(flag, 1);
}

}  // namespace dt
