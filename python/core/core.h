#pragma once

// The extension dtrain._core: libdtrain's public headers for Python's limited API. It knows
// addresses, counts and names; the package above it knows arrays. It gives the GIL up around each
// call that can wait.

#include "comm/include/dtrain/dtrain.h"

#include <Python.h>
#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace dt::python {

/// A wait returns to Python so often, which then runs its signal handlers.
constexpr int slice_ms = 100;

/// Only functions of the module make its objects.
constexpr unsigned type_flags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;

/// The types of one module object.
struct CoreState {
  PyTypeObject* context_type;
  PyTypeObject* work_type;
};

/// Counts the calls that are inside the library with one context.
class CallCounter {
 public:
  void enter();
  void leave();
  /// Waits until no call is inside, or `limit_ms` passed.
  void wait_until_empty(int limit_ms);

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  int calls_ = 0;
};

/// A dropped work whose operation still uses memory.
struct ParkedWork {
  dtrain_work* work;
  PyObject* kept;
};

/// The Python object of a dtrain_context.
struct ContextObject {
  PyObject_HEAD dtrain_context* context;  ///< null once it is finalized
  pid_t process;                          ///< a fork must not use it
  std::shared_ptr<CallCounter> calls;
  std::vector<ParkedWork> parked;
  size_t next_parked;  ///< the place of the next one to examine
};

/// The outcome of a call that starts an operation.
struct StartedWork {
  dtrain_work* work = nullptr;
  size_t element_bytes = 0;
  dtrain_error failure = {.struct_size = sizeof(dtrain_error)};
};

/// The Python object of a dtrain_work. Its buffer is the result that the engine owns.
struct WorkObject {
  PyObject_HEAD dtrain_work* work;
  PyObject* kept;  ///< what owns the memory of the operation, until it is done
  ContextObject* context;
  size_t element_bytes;
};

/// An int and an enumerator of dtrain_type, dtrain_status and so on.
struct NamedNumber {
  const char* name;
  long number;
};

/// Python has addresses, and handles of streams, as integers.
inline void* pointer_of(unsigned long long number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(static_cast<uintptr_t>(number));
}

/// Raises the exception of the package for a failure, and returns null. A signal that waits for its
/// handler goes first. Ctrl-C reaches all ranks, and may be why the call has failed.
PyObject* raise_failure(const dtrain_error& failure);
/// Returns the context of a method call, or raises why it cannot be used.
ContextObject* usable_context(PyObject* self);
/// Wraps a work. Raises the failure, and returns null, where the call has failed at once.
PyObject* new_work(ContextObject* context, const StartedWork& started, PyObject* kept);
/// Wraps a context, which the object then owns.
PyObject* new_context(PyTypeObject* type, dtrain_context* context);
/// A search for dropped works that are done ends after so many that are not. So its time does not
/// grow with them.
constexpr size_t pending_parked_max = 8;
/// Frees works that were dropped while under way, and are done. Each operation and each wait calls
/// it.
void free_parked(ContextObject* context, size_t pending_max = pending_parked_max);

/// Create the types of the module.
PyObject* make_context_type(PyObject* module);
PyObject* make_work_type(PyObject* module);
/// init(timeout_ms): a context.
PyObject* init_context(PyObject* module, PyObject* arguments);
/// wait_any(works, seconds): the index of one that is done in the list, or None when the time
/// passed first. A negative number is no limit.
PyObject* wait_any(PyObject* module, PyObject* arguments);
/// address(memoryview): valid while the memoryview exists.
PyObject* buffer_address(PyObject* module, PyObject* object);
/// capsule(capsule): (address, shape, type's code, bits and lanes, device type, whether it is
/// contiguous) of a capsule of DLPack. The capsule stays its caller's.
PyObject* describe_capsule(PyObject* module, PyObject* capsule);

/// loaded_libraries(part): the paths of this process's libraries that contain the text.
PyObject* loaded_libraries(PyObject* module, PyObject* part);

/// Methods of the type Context, each table with an empty last row.
PyMethodDef* operation_methods();
PyMethodDef* store_methods();

}  // namespace dt::python
