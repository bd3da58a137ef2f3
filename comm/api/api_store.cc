#include "base/bytes.h"
#include "base/format.h"
#include "base/text.h"
#include "comm/api/api_support.h"
#include "comm/api/api_values.h"
#include "comm/api/program_store.h"
#include "comm/include/dtrain/dtrain.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace dt {

namespace {

/// One call of a user, before it is checked.
struct StoreUse {
  dtrain_context* context = nullptr;
  const char* key = nullptr;
  const dtrain_op_options* options = nullptr;
};

template <class T>
Result<> require_pointer(const T* pointer, std::string_view parameter) {
  if (pointer != nullptr) return {};
  return fail(Errc::input, format("the pointer to {} is NULL", parameter));
}

/// Checks the arguments that all calls have in common. Calls `body` with the store and the key.
template <class Body>
int with_store(const StoreUse& use, dtrain_error* error, const Body& body) {
  std::string name;
  const auto checked = [&]() -> Result<> {
    const auto context = TRY(usable(use.context));
    const CallOptions options = TRY(read_call_options(use.options));
    name = options.name;
    if (use.key == nullptr) return fail(Errc::input, "the key is NULL");
    ProgramStore store(context->driver(), options.timeout);
    return body(store, std::string_view(use.key));
  };
  Result<> done = guarded(checked);
  if (done) return report_success(error);
  if (name.empty()) return report(error, done.error());
  const std::string label = format("\"{}\"", printable(name));
  return report(error, std::move(done).error().during(label));
}

}  // namespace

}  // namespace dt

int dtrain_store_set(dtrain_context* context, const char* key, dtrain_bytes value,
                     const dtrain_op_options* options, dtrain_error* error) {
  return dt::with_store({context, key, options}, error,
                        [&](dt::ProgramStore& store, std::string_view name) -> dt::Result<> {
                          const dt::ByteSpan bytes = TRY(dt::span_of(value));
                          return store.set(name, bytes);
                        });
}

int dtrain_store_get(dtrain_context* context, const char* key, dtrain_value** value,
                     const dtrain_op_options* options, dtrain_error* error) {
  if (value != nullptr) *value = nullptr;
  return dt::with_store({context, key, options}, error,
                        [&](dt::ProgramStore& store, std::string_view name) -> dt::Result<> {
                          TRY(dt::require_pointer(value, "the value"));
                          auto held = TRY(store.get(name));
                          if (held) *value = dt::value_of(*std::move(held)).release();
                          return {};
                        });
}

int dtrain_store_wait(dtrain_context* context, const char* key, dtrain_value** value,
                      const dtrain_op_options* options, dtrain_error* error) {
  if (value != nullptr) *value = nullptr;
  return dt::with_store({context, key, options}, error,
                        [&](dt::ProgramStore& store, std::string_view name) -> dt::Result<> {
                          dt::Bytes held = TRY(store.wait(name));
                          if (value != nullptr) *value = dt::value_of(std::move(held)).release();
                          return {};
                        });
}

int dtrain_store_add(dtrain_context* context, const char* key, int64_t* number,
                     const dtrain_op_options* options, dtrain_error* error) {
  return dt::with_store({context, key, options}, error,
                        [&](dt::ProgramStore& store, std::string_view name) -> dt::Result<> {
                          TRY(dt::require_pointer(number, "the number"));
                          *number = TRY(store.add(name, *number));
                          return {};
                        });
}

int dtrain_store_compare_and_set(dtrain_context* context, const char* key,
                                 dtrain_exchange* exchange, const dtrain_op_options* options,
                                 dtrain_error* error) {
  if (exchange != nullptr) exchange->done = 0;
  if (exchange != nullptr) exchange->held = nullptr;
  return dt::with_store({context, key, options}, error,
                        [&](dt::ProgramStore& store, std::string_view name) -> dt::Result<> {
                          TRY(dt::require_pointer(exchange, "the exchange"));
                          std::optional<dt::ByteSpan> expected;
                          if (exchange->expected != nullptr) {
                            expected = TRY(dt::span_of(*exchange->expected));
                          }
                          const dt::ByteSpan desired = TRY(dt::span_of(exchange->desired));
                          auto result = TRY(store.compare_and_set(name, expected, desired));
                          exchange->done = result.done ? 1 : 0;
                          if (result.held) {
                            exchange->held = dt::value_of(*std::move(result.held)).release();
                          }
                          return {};
                        });
}

int dtrain_store_erase(dtrain_context* context, const char* key, int* existed,
                       const dtrain_op_options* options, dtrain_error* error) {
  return dt::with_store({context, key, options}, error,
                        [&](dt::ProgramStore& store, std::string_view name) -> dt::Result<> {
                          const bool erased = TRY(store.erase(name));
                          if (existed != nullptr) *existed = erased ? 1 : 0;
                          return {};
                        });
}

const void* dtrain_value_data(const dtrain_value* value) {
  return value == nullptr ? nullptr : value->bytes.data();
}

size_t dtrain_value_size(const dtrain_value* value) {
  return value == nullptr ? 0 : value->bytes.size() - 1;
}

void dtrain_value_free(dtrain_value* value) {
  const std::unique_ptr<dtrain_value> owned(value);
}
