#include "comm/include/dtrain/dtrain.h"
#include "comm/include/dtrain/dtrain_device.h"
#include "python/core/core.h"
#include "python/core/interruptible.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace dt::python {

namespace {

ContextObject* object_of(PyObject* self) {
  return reinterpret_cast<ContextObject*>(self);
}

/// The outcome of a call that makes a context.
struct NewContext {
  dtrain_context* context = nullptr;
  dtrain_error failure = {.struct_size = sizeof(dtrain_error)};
};

/// So long a finalize waits for calls of other threads, which it ends itself then.
constexpr int calls_leave_ms = 100;

void discard(const NewContext& made) {
  dtrain_finalize(made.context);
}

PyObject* finalize(PyObject* self, PyObject* /*none*/) {
  ContextObject* object = object_of(self);
  dtrain_context* context = std::exchange(object->context, nullptr);
  // The copy in a fork ends with its process.
  if (context != nullptr && getpid() == object->process) {
    const std::shared_ptr<CallCounter> calls = object->calls;
    PyThreadState* thread = PyEval_SaveThread();
    calls->wait_until_empty(calls_leave_ms);
    dtrain_finalize(context);
    PyEval_RestoreThread(thread);
  }
  free_parked(object, object->parked.size());
  Py_RETURN_NONE;
}

void dealloc(PyObject* self) {
  ContextObject* object = object_of(self);
  PyTypeObject* type = Py_TYPE(self);
  // The works have a reference to this object, so only a context without work gets here. The
  // package finalizes the contexts of a job; this is for one that it never got.
  dtrain_finalize(std::exchange(object->context, nullptr));
  free_parked(object, object->parked.size());
  std::destroy_at(&object->parked);
  std::destroy_at(&object->calls);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* numbers(PyObject* self, PyObject* /*none*/) {
  const ContextObject* object = usable_context(self);
  if (object == nullptr) return nullptr;
  const dtrain_context* context = object->context;
  return Py_BuildValue("(iiiiiis)", dtrain_rank(context), dtrain_size(context),
                       dtrain_local_rank(context), dtrain_local_size(context),
                       dtrain_cross_rank(context), dtrain_cross_size(context),
                       dtrain_host(context));
}

PyObject* algorithms(PyObject* self, PyObject* /*none*/) {
  const ContextObject* object = usable_context(self);
  if (object == nullptr) return nullptr;
  std::vector<char> text(dtrain_algorithms(object->context, nullptr, 0) + 1);
  dtrain_algorithms(object->context, text.data(), text.size());
  return PyUnicode_FromString(text.data());
}

PyObject* uses_nccl(PyObject* self, PyObject* /*none*/) {
  const ContextObject* object = usable_context(self);
  return object == nullptr ? nullptr : PyBool_FromLong(dtrain_uses_nccl(object->context));
}

/// Runs `call`, a function of (handle, error) that returns a context, and wraps the context, or
/// returns None.
template <class Call>
PyObject* new_group(PyObject* self, const Call& call) {
  ContextObject* object = object_of(self);
  const auto counter = object->calls;
  counter->enter();
  const auto made = run_interruptibly(
      [call, counter, context = object->context] {
        NewContext outcome;
        call(context, outcome);
        counter->leave();
        return outcome;
      },
      discard);
  if (!made) return nullptr;
  if (made->failure.code != DTRAIN_OK) return raise_failure(made->failure);
  if (made->context == nullptr) Py_RETURN_NONE;
  return new_context(Py_TYPE(self), made->context);
}

dtrain_op_options with_timeout(int timeout_ms) {
  return {.struct_size = sizeof(dtrain_op_options), .timeout_ms = timeout_ms};
}

/// split(color, key, timeout_ms)
PyObject* split(PyObject* self, PyObject* arguments) {
  dtrain_part part = {};
  int timeout_ms = 0;
  if (PyArg_ParseTuple(arguments, "iii", &part.color, &part.key, &timeout_ms) == 0) return nullptr;
  if (usable_context(self) == nullptr) return nullptr;
  return new_group(self, [part, timeout_ms](dtrain_context* context, NewContext& made) {
    const dtrain_op_options options = with_timeout(timeout_ms);
    made.failure.code = dtrain_split(context, part, &made.context, &options, &made.failure);
  });
}

/// group(ranks, timeout_ms), with a tuple of ranks
PyObject* group(PyObject* self, PyObject* arguments) {
  PyObject* given = nullptr;
  int timeout_ms = 0;
  if (PyArg_ParseTuple(arguments, "Oi", &given, &timeout_ms) == 0) return nullptr;
  if (usable_context(self) == nullptr) return nullptr;
  std::vector<int> ranks;
  for (Py_ssize_t i = 0; i < PyTuple_Size(given); ++i)
    ranks.push_back(static_cast<int>(PyLong_AsLong(PyTuple_GetItem(given, i))));
  if (PyErr_Occurred() != nullptr) return nullptr;
  return new_group(self, [ranks, timeout_ms](dtrain_context* context, NewContext& made) {
    const dtrain_op_options options = with_timeout(timeout_ms);
    const dtrain_rank_list list = {.ranks = ranks.data(), .count = static_cast<int>(ranks.size())};
    made.failure.code = dtrain_group(context, list, &made.context, &options, &made.failure);
  });
}

}  // namespace

void CallCounter::enter() {
  const std::lock_guard lock(mutex_);
  ++calls_;
}

void CallCounter::leave() {
  const std::lock_guard lock(mutex_);
  if (--calls_ == 0) empty_.notify_all();
}

void CallCounter::wait_until_empty(int limit_ms) {
  std::unique_lock lock(mutex_);
  empty_.wait_for(lock, std::chrono::milliseconds(limit_ms), [this] { return calls_ == 0; });
}

ContextObject* usable_context(PyObject* self) {
  ContextObject* object = object_of(self);
  dtrain_error failure = {.struct_size = sizeof failure, .code = DTRAIN_OK, .rank = -1, .text = ""};
  if (getpid() != object->process) {
    failure = {.code = DTRAIN_ERROR_INPUT,
               .rank = -1,
               .text =
                   "this process is a fork of the one that called dtrain.init(), and cannot use "
                   "its contexts"};
  } else if (object->context == nullptr) {
    failure = {.code = DTRAIN_ERROR_CLOSED, .rank = -1, .text = "the context was finalized"};
  }
  if (failure.code == DTRAIN_OK) return object;
  raise_failure(failure);
  return nullptr;
}

PyObject* new_context(PyTypeObject* type, dtrain_context* context) {
  PyObject* self = PyType_GenericAlloc(type, 0);
  if (self == nullptr) {
    dtrain_finalize(context);
    return nullptr;
  }
  ContextObject* object = object_of(self);
  object->context = context;
  object->process = getpid();
  std::construct_at(&object->calls, std::make_shared<CallCounter>());
  std::construct_at(&object->parked);
  return self;
}

void free_parked(ContextObject* context, size_t pending_max) {
  std::vector<ParkedWork>& parked = context->parked;
  for (size_t pending = 0; pending < pending_max && !parked.empty();) {
    ParkedWork& next = parked[context->next_parked % parked.size()];
    if (dtrain_work_done(next.work) == 0) {
      ++context->next_parked;
      ++pending;
      continue;
    }
    const ParkedWork ended = std::exchange(next, parked.back());
    parked.pop_back();
    dtrain_work_free(ended.work);
    // A release may run code of the user that parks further works.
    Py_DECREF(ended.kept);
  }
}

PyObject* init_context(PyObject* module, PyObject* arguments) {
  int timeout_ms = 0;
  if (PyArg_ParseTuple(arguments, "i", &timeout_ms) == 0) return nullptr;
  const auto made = run_interruptibly(
      [timeout_ms] {
        const dtrain_init_options options = {.struct_size = sizeof(dtrain_init_options),
                                             .timeout_ms = timeout_ms};
        NewContext outcome;
        outcome.context = dtrain_init(&options, &outcome.failure);
        return outcome;
      },
      discard);
  if (!made) return nullptr;
  if (made->context == nullptr) return raise_failure(made->failure);
  return new_context(static_cast<CoreState*>(PyModule_GetState(module))->context_type,
                     made->context);
}

PyObject* make_context_type(PyObject* module) {
  static const std::vector<PyMethodDef> methods = [] {
    std::vector<PyMethodDef> all = {
        {"finalize", finalize, METH_NOARGS, nullptr},
        {"numbers", numbers, METH_NOARGS, nullptr},
        {"algorithms", algorithms, METH_NOARGS, nullptr},
        {"uses_nccl", uses_nccl, METH_NOARGS, nullptr},
        {"split", split, METH_VARARGS, nullptr},
        {"group", group, METH_VARARGS, nullptr},
    };
    for (const PyMethodDef* row = operation_methods(); row->ml_name != nullptr; ++row)
      all.push_back(*row);
    for (const PyMethodDef* row = store_methods(); row->ml_name != nullptr; ++row)
      all.push_back(*row);
    all.push_back({nullptr, nullptr, 0, nullptr});
    return all;
  }();
  std::array slots = {
      PyType_Slot{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      PyType_Slot{Py_tp_methods, const_cast<PyMethodDef*>(methods.data())},
      PyType_Slot{0, nullptr},
  };
  PyType_Spec spec = {.name = "dtrain._core.Context",
                      .basicsize = sizeof(ContextObject),
                      .itemsize = 0,
                      .flags = type_flags,
                      .slots = slots.data()};
  return PyType_FromModuleAndSpec(module, &spec, nullptr);
}

}  // namespace dt::python
