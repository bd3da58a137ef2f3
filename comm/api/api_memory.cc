#include "base/environment.h"
#include "comm/api/api_support.h"
#include "comm/include/dtrain/dtrain_device.h"
#include "comm/include/dtrain/dtrain_memory.h"
#include "comm/memory/program_memory.h"
#include "gpu/nccl/nccl_library.h"

int dtrain_alloc(dtrain_context* context, size_t bytes, void** memory, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (memory == nullptr) return dt::fail(dt::Errc::input, "the place for the memory is NULL");
    *memory = nullptr;
    const auto used = TRY(dt::usable(context));
    *memory = TRY(used->memory().allocate(bytes));
    return {};
  });
}

int dtrain_uses_nccl(const dtrain_context* context) {
  return context != nullptr && context->context->uses_nccl() ? 1 : 0;
}

int dtrain_nccl_version(void) {
  const auto library = dt::NcclLibrary::open(dt::nccl_candidates(dt::process_environment()));
  return library ? library->version() : 0;
}

int dtrain_free(dtrain_context* context, void* memory, dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (memory == nullptr) return {};
    const auto used = TRY(dt::usable(context));
    return used->memory().free(memory);
  });
}
