#pragma once

#include "gpu/kernels/device_code.cuh"

namespace dt {

/// The accesses to flags. Writes before a release are seen after the acquire of its flag, on all
/// devices and the host.
struct SystemOrder {
  DT_BOTH static void release(uint32_t* flag, uint32_t value) {
#ifdef __CUDA_ARCH__
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
#else
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
#endif
  }
  DT_BOTH static uint32_t acquire(const uint32_t* flag) {
#ifdef __CUDA_ARCH__
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
#else
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
#endif
  }
};

}  // namespace dt
