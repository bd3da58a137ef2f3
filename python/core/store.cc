#include "comm/include/dtrain/dtrain.h"
#include "python/core/core.h"
#include "python/core/interruptible.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace dt::python {

namespace {

using Clock = std::chrono::steady_clock;

/// The outcome of a call of the store.
struct StoreReply {
  dtrain_error failure = {.struct_size = sizeof(dtrain_error)};
  dtrain_value* value = nullptr;
  int64_t number = 0;  ///< of add; 1 for "yes" of other calls
};

void discard(const StoreReply& reply) {
  dtrain_value_free(reply.value);
}

/// A request with copies of all that it needs, because an interrupted caller does not wait for its
/// end.
struct StoreRequest {
  std::string key;
  std::string value;
  std::optional<std::string> expected;
  int64_t number = 0;
  int timeout_ms = 0;
};

dtrain_bytes bytes_of(const std::string& text) {
  return {.data = text.data(), .size = text.size()};
}

/// Runs `call`, a function of (handle, request, options, reply) that returns the status.
template <class Call>
std::optional<StoreReply> ask(PyObject* self, const StoreRequest& request, Call call) {
  const ContextObject* object = usable_context(self);
  if (object == nullptr) return std::nullopt;
  const auto counter = object->calls;
  counter->enter();
  const auto reply = run_interruptibly(
      [=, context = object->context] {
        const dtrain_op_options options = {.struct_size = sizeof options,
                                           .timeout_ms = request.timeout_ms};
        StoreReply outcome;
        outcome.failure.code = call(context, request, options, outcome);
        counter->leave();
        return outcome;
      },
      discard);
  if (reply && reply->failure.code != DTRAIN_OK) {
    raise_failure(reply->failure);
    return std::nullopt;
  }
  return reply;
}

/// Returns the value as bytes, or None, and frees it.
PyObject* taken(dtrain_value* value) {
  if (value == nullptr) Py_RETURN_NONE;
  PyObject* bytes = PyBytes_FromStringAndSize(static_cast<const char*>(dtrain_value_data(value)),
                                              static_cast<Py_ssize_t>(dtrain_value_size(value)));
  dtrain_value_free(value);
  return bytes;
}

/// Reads (key, timeout_ms).
bool read_key(PyObject* arguments, StoreRequest& request) {
  const char* key = nullptr;
  if (PyArg_ParseTuple(arguments, "si", &key, &request.timeout_ms) == 0) return false;
  request.key = key;
  return true;
}

/// store_set(key, value, timeout_ms)
PyObject* set(PyObject* self, PyObject* arguments) {
  const char* key = nullptr;
  const char* value = nullptr;
  Py_ssize_t size = 0;
  StoreRequest request;
  if (PyArg_ParseTuple(arguments, "sy#i", &key, &value, &size, &request.timeout_ms) == 0)
    return nullptr;
  request.key = key;
  request.value.assign(value, static_cast<size_t>(size));
  const auto reply = ask(self, request,
                         [](dtrain_context* context, const StoreRequest& asked,
                            const dtrain_op_options& options, StoreReply& into) {
                           return dtrain_store_set(context, asked.key.c_str(),
                                                   bytes_of(asked.value), &options, &into.failure);
                         });
  if (!reply) return nullptr;
  Py_RETURN_NONE;
}

/// store_get(key, timeout_ms): bytes or None
/// store_wait(key, timeout_ms): bytes
template <auto Call>
PyObject* read_value(PyObject* self, PyObject* arguments) {
  StoreRequest request;
  if (!read_key(arguments, request)) return nullptr;
  const auto reply =
      ask(self, request,
          [](dtrain_context* context, const StoreRequest& asked, const dtrain_op_options& options,
             StoreReply& into) {
            return Call(context, asked.key.c_str(), &into.value, &options, &into.failure);
          });
  return reply ? taken(reply->value) : nullptr;
}

/// store_add(key, number, timeout_ms): the sum
PyObject* add(PyObject* self, PyObject* arguments) {
  const char* key = nullptr;
  long long number = 0;
  StoreRequest request;
  if (PyArg_ParseTuple(arguments, "sLi", &key, &number, &request.timeout_ms) == 0) return nullptr;
  request.key = key;
  request.number = number;
  const auto reply = ask(self, request,
                         [](dtrain_context* context, const StoreRequest& asked,
                            const dtrain_op_options& options, StoreReply& into) {
                           into.number = asked.number;
                           return dtrain_store_add(context, asked.key.c_str(), &into.number,
                                                   &options, &into.failure);
                         });
  return reply ? PyLong_FromLongLong(reply->number) : nullptr;
}

/// store_compare_and_set(key, expected or None, desired, timeout_ms): (done, the held value or
/// None)
PyObject* compare_and_set(PyObject* self, PyObject* arguments) {
  const char* key = nullptr;
  const char* expected = nullptr;
  const char* desired = nullptr;
  Py_ssize_t expected_size = 0;
  Py_ssize_t desired_size = 0;
  StoreRequest request;
  if (PyArg_ParseTuple(arguments, "sz#y#i", &key, &expected, &expected_size, &desired,
                       &desired_size, &request.timeout_ms) == 0)
    return nullptr;
  request.key = key;
  request.value.assign(desired, static_cast<size_t>(desired_size));
  if (expected != nullptr) request.expected.emplace(expected, static_cast<size_t>(expected_size));
  const auto reply =
      ask(self, request,
          [](dtrain_context* context, const StoreRequest& asked, const dtrain_op_options& options,
             StoreReply& into) {
            dtrain_bytes wanted = {};
            if (asked.expected) wanted = bytes_of(*asked.expected);
            dtrain_exchange exchange = {.expected = asked.expected ? &wanted : nullptr,
                                        .desired = bytes_of(asked.value)};
            const int status = dtrain_store_compare_and_set(context, asked.key.c_str(), &exchange,
                                                            &options, &into.failure);
            into.number = exchange.done;
            into.value = exchange.held;
            return status;
          });
  if (!reply) return nullptr;
  PyObject* held = taken(reply->value);
  return held == nullptr
             ? nullptr
             : Py_BuildValue("(NN)", PyBool_FromLong(static_cast<long>(reply->number)), held);
}

/// store_erase(key, timeout_ms): whether the key existed
PyObject* erase(PyObject* self, PyObject* arguments) {
  StoreRequest request;
  if (!read_key(arguments, request)) return nullptr;
  const auto reply = ask(self, request,
                         [](dtrain_context* context, const StoreRequest& asked,
                            const dtrain_op_options& options, StoreReply& into) {
                           int existed = 0;
                           const int status = dtrain_store_erase(context, asked.key.c_str(),
                                                                 &existed, &options, &into.failure);
                           into.number = existed;
                           return status;
                         });
  return reply ? PyBool_FromLong(static_cast<long>(reply->number)) : nullptr;
}

}  // namespace

PyMethodDef* store_methods() {
  static std::array methods = {
      PyMethodDef{"store_set", set, METH_VARARGS, nullptr},
      PyMethodDef{"store_get", read_value<dtrain_store_get>, METH_VARARGS, nullptr},
      PyMethodDef{"store_wait", read_value<dtrain_store_wait>, METH_VARARGS, nullptr},
      PyMethodDef{"store_add", add, METH_VARARGS, nullptr},
      PyMethodDef{"store_compare_and_set", compare_and_set, METH_VARARGS, nullptr},
      PyMethodDef{"store_erase", erase, METH_VARARGS, nullptr},
      PyMethodDef{nullptr, nullptr, 0, nullptr},
  };
  return methods.data();
}

}  // namespace dt::python
