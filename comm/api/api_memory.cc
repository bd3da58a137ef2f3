#include "comm/api/api_support.h"
#include "comm/include/dtrain/dtrain_memory.h"

int dtrain_alloc(dtrain_context* context, size_t bytes, void** memory, dtrain_error* error) {
  const auto body = [&]() -> dt::Result<void*> {
    if (memory == nullptr) return dt::fail(dt::Errc::input, "the place for the memory is NULL");
    *memory = nullptr;
    const auto used = TRY(dt::usable(context == nullptr ? nullptr : &context->context));
    return used->memory().allocate(bytes);
  };
  const dt::Result<void*> allocated = dt::guarded(body);
  if (!allocated) return dt::report(error, allocated.error());
  *memory = *allocated;
  return dt::report_success(error);
}

int dtrain_uses_nccl(const dtrain_context* context) {
  return context != nullptr && context->context->uses_nccl() ? 1 : 0;
}

int dtrain_free(dtrain_context* context, void* memory, dtrain_error* error) {
  const auto body = [&]() -> dt::Result<> {
    if (memory == nullptr) return {};
    const auto used = TRY(dt::usable(context == nullptr ? nullptr : &context->context));
    return used->memory().free(memory);
  };
  const dt::Result<> freed = dt::guarded(body);
  return freed ? dt::report_success(error) : dt::report(error, freed.error());
}
