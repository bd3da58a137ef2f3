#include "comm/include/dtrain/dtrain.h"
#include "comm/include/dtrain/dtrain_device.h"
#include "comm/include/dtrain/dtrain_work.h"
#include "python/core/core.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

namespace dt::python {

namespace {

using Clock = std::chrono::steady_clock;

WorkObject* object_of(PyObject* self) {
  return reinterpret_cast<WorkObject*>(self);
}

void dealloc(PyObject* self) {
  WorkObject* object = object_of(self);
  PyTypeObject* type = Py_TYPE(self);
  ContextObject* context = object->context;
  if (dtrain_work_done(object->work) != 0) {
    dtrain_work_free(object->work);
    Py_XDECREF(object->kept);
  } else {
    // Its operation uses the memory until all ranks have called it, and no collector may wait for
    // them.
    context->parked.push_back({object->work, object->kept});
  }
  PyObject_Free(self);
  Py_DECREF(type);
  Py_DECREF(reinterpret_cast<PyObject*>(context));
}

PyObject* done(PyObject* self, PyObject* /*none*/) {
  return PyBool_FromLong(dtrain_work_done(object_of(self)->work));
}

/// Raises the failure of a work that has ended, or releases its memory and returns true.
PyObject* ended(WorkObject* object, int status, const dtrain_error& failure) {
  PyObject* kept = std::exchange(object->kept, nullptr);
  Py_XDECREF(kept);
  free_parked(object->context);
  if (status != DTRAIN_OK) return raise_failure(failure);
  Py_RETURN_TRUE;
}

/// wait(seconds): true when it is done, false when the time passed first. A negative number is no
/// limit.
PyObject* wait(PyObject* self, PyObject* argument) {
  const double seconds = PyFloat_AsDouble(argument);
  if (PyErr_Occurred() != nullptr) return nullptr;
  WorkObject* object = object_of(self);
  dtrain_error failure = {.struct_size = sizeof failure};
  if (dtrain_work_done(object->work) != 0)
    return ended(object, dtrain_work_wait(object->work, 0, &failure), failure);

  const auto begin = Clock::now();
  while (true) {
    int wait_ms = slice_ms;
    if (seconds >= 0) {
      const std::chrono::duration<double, std::milli> passed = Clock::now() - begin;
      const double left_ms = seconds * 1000 - passed.count();
      if (left_ms <= 0) Py_RETURN_FALSE;
      wait_ms = static_cast<int>(std::min<double>(slice_ms, left_ms + 1));
    }
    PyThreadState* thread = PyEval_SaveThread();
    const int status = dtrain_work_wait(object->work, wait_ms, &failure);
    PyEval_RestoreThread(thread);
    if (status != DTRAIN_PENDING) return ended(object, status, failure);
    if (PyErr_CheckSignals() < 0) return nullptr;
  }
}

/// wait_stream(stream): later work of a stream of the buffers' device begins behind the result. It
/// waits until that is queued, or done where the buffers are on the host. The work must live until
/// it is done.
PyObject* wait_stream(PyObject* self, PyObject* argument) {
  const unsigned long long stream = PyLong_AsUnsignedLongLong(argument);
  if (PyErr_Occurred() != nullptr) return nullptr;
  dtrain_error failure = {.struct_size = sizeof failure};
  dtrain_work* work = object_of(self)->work;
  while (true) {
    PyThreadState* thread = PyEval_SaveThread();
    const int status = dtrain_work_wait_stream(work, pointer_of(stream), slice_ms, &failure);
    PyEval_RestoreThread(thread);
    if (status == DTRAIN_OK) Py_RETURN_NONE;
    if (status != DTRAIN_PENDING) return raise_failure(failure);
    if (PyErr_CheckSignals() < 0) return nullptr;
  }
}

/// Returns the result that the engine owns; none, with an exception set, when there is none.
bool read_result(PyObject* self, dtrain_result& result) {
  dtrain_error failure = {.struct_size = sizeof failure};
  result.struct_size = sizeof result;
  if (dtrain_work_result(object_of(self)->work, &result, &failure) == DTRAIN_OK) return true;
  raise_failure(failure);
  return false;
}

/// counts(): the elements of each part of the result
PyObject* counts(PyObject* self, PyObject* /*none*/) {
  dtrain_result result = {};
  if (!read_result(self, result)) return nullptr;
  PyObject* tuple = PyTuple_New(result.ranks);
  for (int i = 0; tuple != nullptr && i < result.ranks; ++i) {
    PyObject* count = PyLong_FromSize_t(result.counts[i]);
    if (count == nullptr || PyTuple_SetItem(tuple, i, count) < 0) {
      Py_DECREF(tuple);
      return nullptr;
    }
  }
  return tuple;
}

/// times(): nanoseconds of CLOCK_MONOTONIC at which it was submitted, started and ended
PyObject* times(PyObject* self, PyObject* /*none*/) {
  dtrain_error failure = {.struct_size = sizeof failure};
  dtrain_times found = {.struct_size = sizeof found};
  if (dtrain_work_times(object_of(self)->work, &found, &failure) != DTRAIN_OK)
    return raise_failure(failure);
  return Py_BuildValue("(LLL)", static_cast<long long>(found.submitted_ns),
                       static_cast<long long>(found.started_ns),
                       static_cast<long long>(found.ended_ns));
}

/// Exports the bytes of the result, which belong to this work alone. So its owner may also write
/// there.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  dtrain_result result = {};
  if (!read_result(self, result)) return -1;
  const size_t bytes = result.count * object_of(self)->element_bytes;
  void* data = bytes == 0 ? self : const_cast<void*>(result.data);
  return PyBuffer_FillInfo(view, self, data, static_cast<Py_ssize_t>(bytes), 0, flags);
}

/// The index of a work that is done, and the number that dtrain_wait_any returned.
struct Found {
  size_t index;
  int status;
};

/// Reads the works of a list, and takes a reference to each.
bool read_works(PyObject* list, PyTypeObject* type, std::vector<PyObject*>& objects) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    PyObject* object = PyList_GetItem(list, i);
    if (Py_TYPE(object) != type) {
      PyErr_SetString(PyExc_TypeError, "wait_any takes a list of works");
      return false;
    }
    Py_INCREF(object);
    objects.push_back(object);
  }
  return PyErr_Occurred() == nullptr;
}

/// Waits without the GIL, in slices after which Python handles its signals. A status other than
/// DTRAIN_OK and DTRAIN_PENDING has its failure; -2 is an exception of Python.
Found wait_for_any(const std::vector<dtrain_work*>& works, double seconds, dtrain_error& failure) {
  const auto begin = Clock::now();
  while (true) {
    const std::chrono::duration<double> passed = Clock::now() - begin;
    const double left_ms = (seconds - passed.count()) * 1000;
    const int wait_ms =
        seconds < 0 ? slice_ms : static_cast<int>(std::clamp<double>(left_ms, 0, slice_ms));
    Found found = {.index = 0, .status = DTRAIN_OK};
    PyThreadState* thread = PyEval_SaveThread();
    found.status = dtrain_wait_any(works.data(), works.size(), wait_ms, &found.index, &failure);
    PyEval_RestoreThread(thread);
    if (found.status != DTRAIN_PENDING || (seconds >= 0 && left_ms <= 0)) return found;
    if (PyErr_CheckSignals() < 0) return {.index = 0, .status = -2};
  }
}

}  // namespace

PyObject* wait_any(PyObject* module, PyObject* arguments) {
  PyObject* list = nullptr;
  double seconds = 0;
  if (PyArg_ParseTuple(arguments, "Od", &list, &seconds) == 0) return nullptr;
  auto* state = static_cast<CoreState*>(PyModule_GetState(module));
  std::vector<PyObject*> objects;
  std::vector<dtrain_work*> works;
  dtrain_error failure = {.struct_size = sizeof failure};
  Found found = {.index = 0, .status = -2};
  if (read_works(list, state->work_type, objects)) {
    for (PyObject* object : objects)
      works.push_back(object_of(object)->work);
    found = wait_for_any(works, seconds, failure);
  }
  for (PyObject* object : objects)
    Py_DECREF(object);
  if (found.status == -2) return nullptr;
  if (found.status == DTRAIN_PENDING) Py_RETURN_NONE;
  return found.status == DTRAIN_OK ? PyLong_FromSize_t(found.index) : raise_failure(failure);
}

PyObject* new_work(ContextObject* context, const StartedWork& started, PyObject* kept) {
  if (started.work == nullptr) return raise_failure(started.failure);
  auto* state =
      static_cast<CoreState*>(PyType_GetModuleState(Py_TYPE(reinterpret_cast<PyObject*>(context))));
  PyObject* self = PyType_GenericAlloc(state->work_type, 0);
  Py_INCREF(kept);
  if (self == nullptr) {
    context->parked.push_back({started.work, kept});
    return nullptr;
  }
  Py_INCREF(reinterpret_cast<PyObject*>(context));
  WorkObject* object = object_of(self);
  object->work = started.work;
  object->element_bytes = started.element_bytes;
  object->kept = kept;
  object->context = context;
  return self;
}

PyObject* make_work_type(PyObject* module) {
  static std::array methods = {
      PyMethodDef{"done", done, METH_NOARGS, nullptr},
      PyMethodDef{"wait", wait, METH_O, nullptr},
      PyMethodDef{"wait_stream", wait_stream, METH_O, nullptr},
      PyMethodDef{"counts", counts, METH_NOARGS, nullptr},
      PyMethodDef{"times", times, METH_NOARGS, nullptr},
      PyMethodDef{nullptr, nullptr, 0, nullptr},
  };
  std::array slots = {
      PyType_Slot{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      PyType_Slot{Py_tp_methods, methods.data()},
      PyType_Slot{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
      PyType_Slot{0, nullptr},
  };
  PyType_Spec spec = {.name = "dtrain._core.Work",
                      .basicsize = sizeof(WorkObject),
                      .itemsize = 0,
                      .flags = type_flags,
                      .slots = slots.data()};
  return PyType_FromModuleAndSpec(module, &spec, nullptr);
}

}  // namespace dt::python
