#pragma once

#include "base/format.h"
#include "base/kernels/element.h"
#include "base/result.h"
#include "choices/operation_kind.h"
#include "comm/api/context.h"
#include "comm/api/no_cancellation.h"
#include "comm/api/own_context.h"
#include "comm/include/dtrain/dtrain.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>

namespace dt {
struct InitOptions;
struct OperationRequest;
struct OperationResult;
struct OperationTerms;
struct SparseRows;
}  // namespace dt

// NOLINTBEGIN(readability-identifier-naming): the names of C's opaque types
struct dtrain_context {
  std::shared_ptr<dt::Context> context;
};
struct dtrain_work {
  std::shared_ptr<dt::Context> context;
  std::shared_ptr<dt::Operation> work;
  std::shared_ptr<dt::OperationResult> result = {};  ///< of operations with own counts
  dtrain_type result_type = DTRAIN_FLOAT32;
  std::shared_ptr<dt::SparseRows> sparse = {};  ///< of dtrain_all_reduce_sparse
};
// NOLINTEND(readability-identifier-naming)

namespace dt {

/// Fills the fields that the caller's struct has, and returns the status.
int report(dtrain_error* into, const Error& error);
int report_success(dtrain_error* into);
/// Returns the kind of failure of a status, which is not DTRAIN_OK.
Errc errc_of(int status);

/// Reads a caller's struct, whose struct_size may be that of an older or newer header. Fields that
/// it lacks are zero. Fields that this library does not know must be zero: otherwise it would
/// ignore an option.
template <class T>
Result<T> read_struct(const T* given, const char* type) {
  constexpr size_t believable_max = 4096;
  T known = {};
  if (given == nullptr) return known;
  const size_t size = given->struct_size;
  if (size < sizeof(size_t) || size > believable_max) {
    return fail(Errc::input,
                format("{}.struct_size is {}; set it to sizeof({})", type, size, type));
  }
  const auto* bytes = reinterpret_cast<const char*>(given);
  if (std::any_of(bytes + std::min(size, sizeof known), bytes + size,
                  [](char byte) { return byte != 0; })) {
    return fail(Errc::input, format("{} has fields that this libdtrain {} does not know", type,
                                    dtrain_version()));
  }
  std::memcpy(&known, bytes, std::min(size, sizeof known));
  return known;
}

OwnContext new_context(std::shared_ptr<Context> context);
/// Called before a task joins: with --dump-stacks, SIGQUIT gets its handler.
void install_wanted_stack_dump();
/// Reads how a caller joins; none if this process belongs to no job.
Result<std::optional<InitOptions>> read_init_options(const dtrain_init_options* given);
/// Returns a variable's value; null when it is not set.
const char* environment_variable(const char* name);

/// Checks the struct_size of a struct that the library fills.
Result<> check_result_size(const char* type, size_t struct_size);
/// Fills the fields behind struct_size, which is the first, as far as the caller's struct has them.
template <class T>
void fill_result(T* into, const T& found) {
  constexpr size_t first = sizeof(size_t);
  const size_t end = std::min(into->struct_size, sizeof found);
  std::memcpy(reinterpret_cast<char*>(into) + first, reinterpret_cast<const char*>(&found) + first,
              end - std::min(first, end));
}

/// Returns the type with that number of dtrain.h; for DTRAIN_OPAQUE, whose elements the options
/// must describe, uint8.
Result<ElementType> type_of(int type, const dtrain_op_options& options);
/// Makes counts of opaque elements those of bytes. Fails where the bytes have no number.
Result<> count_bytes(OperationRequest& request);
/// Returns the reduction with that number of dtrain.h.
Result<ReduceOp> reduce_of(dtrain_op op);

/// Returns the checked options of one operation.
Result<dtrain_op_options> read_op_options(const dtrain_op_options* given);
/// Returns those of a call that is no operation, and takes a name and a timeout only.
Result<CallOptions> read_call_options(const dtrain_op_options* given);
/// Returns the scale and the shape; none if they are not given.
std::optional<OperationTerms> terms_of(const dtrain_op_options& options);
/// Returns the name; empty if none is given.
inline std::string_view name_of(const dtrain_op_options& options) {
  return options.name == nullptr ? std::string_view() : options.name;
}
/// Returns a call with the options, but without a name: a blocking call copies none.
OperationRequest request_of(OperationKind kind, const Context& context,
                            const dtrain_op_options& options);

/// Returns the context behind a handle. Fails with Errc::input for a null handle and in a fork.
Result<std::shared_ptr<Context>> usable(const dtrain_context* handle);
Result<std::shared_ptr<Context>> usable(const dtrain_work* handle);

/// Calls a body that returns a Result. An exception (out of memory) becomes Errc::os, because none
/// may reach a C caller. The thread is not cancelled before the end.
template <class Body>
auto guarded(const Body& body) -> decltype(body()) {
  const NoCancellation no_cancellation;
  try {
    return body();
  } catch (const std::exception& thrown) {
    return fail(Errc::os, thrown.what());
  }
}

/// Calls a body that returns a Result<>. Reports its outcome, and returns the status.
template <class Body>
int report_call(dtrain_error* error, const Body& body) {
  const Result<> done = guarded(body);
  return done ? report_success(error) : report(error, done.error());
}

/// Calls a body that returns a Result of an owner. Returns the object, which the C caller owns now;
/// null when the body failed.
template <class Body>
auto make_handle(dtrain_error* error, const Body& body) -> decltype(body()->release()) {
  auto made = guarded(body);
  if (!made) {
    report(error, made.error());
    return nullptr;
  }
  report_success(error);
  return made->release();
}

/// Calls a body that returns a Result of a struct, for the struct of the caller.
template <class T, class Body>
int fill_struct(T* into, const char* type, dtrain_error* error, const Body& body) {
  return report_call(error, [&]() -> Result<> {
    if (into == nullptr) return fail(Errc::input, format("the {} is NULL", type));
    TRY(check_result_size(type, into->struct_size));
    const T found = TRY(body());
    fill_result(into, found);
    return {};
  });
}

}  // namespace dt
