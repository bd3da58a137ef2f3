#include "comm/training/strategy/api_strategy.h"
#include "comm/training/strategy/device_prefetch.h"

#include <cstddef>
#include <memory>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming): the names of C's opaque types
struct dtrain_prefetch {
  std::unique_ptr<dt::DevicePrefetch> prefetch = {};
};
// NOLINTEND(readability-identifier-naming)

namespace dt {
namespace {

Result<std::unique_ptr<dtrain_prefetch>> create_prefetch(dtrain_strategy* strategy,
                                                         const dtrain_prefetch_options* given) {
  TRY(check_handle(strategy));
  const auto options = TRY(read_struct(given, "dtrain_prefetch_options"));
  if (options.fill == nullptr) return fail(Errc::input, "dtrain_prefetch_options.fill is NULL");
  if (options.local_replica < 0)
    return fail(Errc::input, "dtrain_prefetch_options.local_replica is negative");
  const auto fill = [function = options.fill,
                     argument = options.argument](std::byte* into) -> Result<size_t> {
    const size_t bytes = function(into, argument);
    if (bytes == DTRAIN_FILL_FAILED)
      return fail(Errc::os, "the function that fills a batch has failed");
    return bytes;
  };
  auto made = std::make_unique<dtrain_prefetch>();
  made->prefetch = TRY(DevicePrefetch::start(
      strategy->strategy->devices(),
      {.replica = static_cast<size_t>(options.local_replica),
       .bytes = options.bytes,
       .depth = options.depth == 0 ? DevicePrefetch::Options().depth : options.depth},
      fill));
  return made;
}

}  // namespace
}  // namespace dt

dtrain_prefetch* dtrain_prefetch_create(dtrain_strategy* strategy,
                                        const dtrain_prefetch_options* options,
                                        dtrain_error* error) {
  return dt::make_handle(error, [&] { return dt::create_prefetch(strategy, options); });
}

int dtrain_prefetch_next(dtrain_prefetch* prefetch, const void** data, size_t* bytes,
                         dtrain_error* error) {
  return dt::report_call(error, [&]() -> dt::Result<> {
    if (prefetch == nullptr || data == nullptr || bytes == nullptr)
      return dt::fail(dt::Errc::input, "an argument is NULL");
    const dt::ByteSpan batch = TRY(prefetch->prefetch->next());
    *data = batch.data();
    *bytes = batch.size();
    return {};
  });
}

void dtrain_prefetch_free(dtrain_prefetch* prefetch) {
  const std::unique_ptr<dtrain_prefetch> owned(prefetch);
}
