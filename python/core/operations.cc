#include "comm/include/dtrain/dtrain.h"
#include "comm/include/dtrain/dtrain_work.h"
#include "python/core/core.h"

#include <array>
#include <utility>
#include <vector>

namespace dt::python {

namespace {

/// The arguments of an operation: (input, output, count, type, argument, root, options, kept).
/// Input and output are addresses. The argument is the reduction, the root or the other rank. The
/// options are a tuple: (name, timeout_ms, prescale, postscale, shape, average_over, compression,
/// element, element_bytes, counts), and behind them a stream of the buffers' device, where there is
/// one.
struct CallArguments {
  dtrain_buffers buffers = {};
  int argument = 0;
  int root = 0;
  dtrain_op_options options = {.struct_size = sizeof(dtrain_op_options)};
  std::vector<size_t> shape;
  std::vector<size_t> counts;  ///< of the parts, for operations with a count for each rank
  PyObject* kept = nullptr;

  void set_buffers(unsigned long long input, unsigned long long output, Py_ssize_t count) {
    buffers.input = pointer_of(input);
    buffers.output = pointer_of(output);
    buffers.count = static_cast<size_t>(count);
  }
};

constexpr std::array<size_t, 17> bytes_of_type = {0, 1, 1, 4, 4, 8, 8, 2, 2,
                                                  4, 8, 2, 2, 1, 0, 1, 1};

size_t element_bytes(const CallArguments& call) {
  const auto type = static_cast<size_t>(call.buffers.type);
  if (call.options.element_bytes > 0 || type >= bytes_of_type.size())
    return call.options.element_bytes;
  return bytes_of_type.at(type);
}

/// Reads a tuple of sizes. False with an exception set where an item is none.
bool read_sizes(PyObject* tuple, std::vector<size_t>& into) {
  const Py_ssize_t length = PyTuple_Size(tuple);
  if (length < 0) return false;
  into.reserve(static_cast<size_t>(length));
  for (Py_ssize_t i = 0; i < length; ++i)
    into.push_back(PyLong_AsSize_t(PyTuple_GetItem(tuple, i)));
  return PyErr_Occurred() == nullptr;
}

bool read_options(PyObject* tuple, CallArguments& call) {
  PyObject* shape = nullptr;
  PyObject* counts = nullptr;
  Py_ssize_t element_bytes = 0;
  unsigned long long stream = 0;
  dtrain_op_options& options = call.options;
  if (PyArg_ParseTuple(tuple, "ziddOiiznO|K", &options.name, &options.timeout_ms, &options.prescale,
                       &options.postscale, &shape, &options.average_over, &options.compression,
                       &options.element, &element_bytes, &counts, &stream) == 0)
    return false;
  options.stream = pointer_of(stream);
  options.element_bytes = static_cast<size_t>(element_bytes);
  if (counts != Py_None && !read_sizes(counts, call.counts)) return false;
  if (shape == Py_None) return true;
  if (!read_sizes(shape, call.shape)) return false;
  // An empty vector has no address, and the shape of a scalar must not be NULL.
  call.shape.push_back(0);
  options.shape = call.shape.data();
  options.dims = static_cast<int>(call.shape.size()) - 1;
  return true;
}

bool read_call(PyObject* arguments, CallArguments& call) {
  unsigned long long input = 0;
  unsigned long long output = 0;
  Py_ssize_t count = 0;
  PyObject* options = nullptr;
  int type = 0;
  if (PyArg_ParseTuple(arguments, "KKniiiOO", &input, &output, &count, &type, &call.argument,
                       &call.root, &options, &call.kept) == 0)
    return false;
  call.buffers.type = static_cast<dtrain_type>(type);
  call.set_buffers(input, output, count);
  return read_options(options, call);
}

/// Raises the failure of a work that ended with wrong arguments while it was started.
PyObject* check_arguments(PyObject* object) {
  if (object == nullptr) return nullptr;
  dtrain_error failure = {.struct_size = sizeof failure};
  dtrain_work* work = reinterpret_cast<WorkObject*>(object)->work;
  if (dtrain_work_done(work) == 0) return object;
  if (dtrain_work_wait(work, 0, &failure) != DTRAIN_ERROR_INPUT) return object;
  Py_DECREF(object);
  return raise_failure(failure);
}

/// `function` makes a work from a context, the call and a place for the failure.
template <class Start>
PyObject* start_call(PyObject* self, CallArguments& call, const Start& function) {
  ContextObject* context = usable_context(self);
  if (context == nullptr) return nullptr;
  if (!call.counts.empty() &&
      call.counts.size() != static_cast<size_t>(dtrain_size(context->context))) {
    PyErr_Format(PyExc_ValueError, "%zu counts for %d ranks", call.counts.size(),
                 dtrain_size(context->context));
    return nullptr;
  }
  free_parked(context);
  StartedWork started = {.element_bytes = element_bytes(call)};
  dtrain_context* handle = context->context;
  CallCounter& calls = *context->calls;
  calls.enter();
  PyThreadState* thread = PyEval_SaveThread();
  started.work = function(handle, call, &started.failure);
  calls.leave();
  PyEval_RestoreThread(thread);
  return check_arguments(new_work(context, started, call.kept));
}

template <class Start>
PyObject* start(PyObject* self, PyObject* arguments, const Start& function) {
  CallArguments call;
  return read_call(arguments, call) ? start_call(self, call, function) : nullptr;
}

/// For operations with a root or another rank.
template <auto function>
PyObject* with_argument(PyObject* self, PyObject* arguments) {
  return start(self, arguments,
               [](dtrain_context* context, CallArguments& call, dtrain_error* error) {
                 return function(context, call.buffers, call.argument, &call.options, error);
               });
}

/// For operations with a reduction.
template <auto function>
PyObject* with_op(PyObject* self, PyObject* arguments) {
  return start(self, arguments,
               [](dtrain_context* context, CallArguments& call, dtrain_error* error) {
                 return function(context, call.buffers, static_cast<dtrain_op>(call.argument),
                                 &call.options, error);
               });
}

template <auto function>
PyObject* with_buffers(PyObject* self, PyObject* arguments) {
  return start(self, arguments,
               [](dtrain_context* context, CallArguments& call, dtrain_error* error) {
                 return function(context, call.buffers, &call.options, error);
               });
}

template <auto function>
PyObject* with_counts(PyObject* self, PyObject* arguments) {
  return start(self, arguments,
               [](dtrain_context* context, CallArguments& call, dtrain_error* error) {
                 const dtrain_split_buffers split = {.struct_size = sizeof split,
                                                     .input = call.buffers.input,
                                                     .counts = call.counts.data(),
                                                     .type = call.buffers.type,
                                                     .op = static_cast<dtrain_op>(call.argument)};
                 return function(context, &split, &call.options, error);
               });
}

template <auto function>
PyObject* without_buffers(PyObject* self, PyObject* arguments) {
  return start(self, arguments,
               [](dtrain_context* context, CallArguments& call, dtrain_error* error) {
                 return function(context, &call.options, error);
               });
}

/// The tensors of one call of all_reduce_list.
struct TensorList {
  std::vector<dtrain_buffers> buffers;
  std::vector<std::vector<size_t>> shapes;
  std::vector<const size_t*> shape_pointers;
  std::vector<int> dims;
  std::vector<const char*> names;  ///< of all tensors, or of none

  dtrain_tensor_list get() const {
    return {.struct_size = sizeof(dtrain_tensor_list),
            .tensors = buffers.data(),
            .count = buffers.size(),
            .shapes = shape_pointers.data(),
            .dims = dims.data(),
            .names = names.empty() ? nullptr : names.data()};
  }
};

/// Reads the row (input, output, count, type, shape) or (input, output, count, type, shape, name).
bool read_tensor(PyObject* row, TensorList& into) {
  CallArguments tensor;
  unsigned long long input = 0;
  unsigned long long output = 0;
  Py_ssize_t count = 0;
  PyObject* shape = nullptr;
  int type = 0;
  const char* name = nullptr;
  if (PyArg_ParseTuple(row, "KKniO|s", &input, &output, &count, &type, &shape, &name) == 0)
    return false;
  if (name != nullptr) into.names.push_back(name);
  tensor.buffers.type = static_cast<dtrain_type>(type);
  tensor.set_buffers(input, output, count);
  if (!read_sizes(shape, tensor.shape)) return false;
  into.dims.push_back(static_cast<int>(tensor.shape.size()));
  // An empty vector has no address, and the shape of a scalar must not be NULL.
  tensor.shape.push_back(0);
  into.buffers.push_back(tensor.buffers);
  into.shapes.push_back(std::move(tensor.shape));
  into.shape_pointers.push_back(into.shapes.back().data());
  return true;
}

/// all_reduce_list(tensors, op, options, kept), with a tuple of rows. The names of the list's
/// tensors come from the name in the options, if the rows have none.
PyObject* all_reduce_list(PyObject* self, PyObject* arguments) {
  CallArguments call;
  PyObject* rows = nullptr;
  PyObject* options = nullptr;
  if (PyArg_ParseTuple(arguments, "OiOO", &rows, &call.argument, &options, &call.kept) == 0 ||
      !read_options(options, call))
    return nullptr;
  TensorList tensors;
  for (Py_ssize_t i = 0; i < PyTuple_Size(rows); ++i) {
    if (!read_tensor(PyTuple_GetItem(rows, i), tensors)) return nullptr;
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  return start_call(
      self, call, [&tensors](dtrain_context* context, CallArguments& asked, dtrain_error* error) {
        const dtrain_tensor_list list = tensors.get();
        return dtrain_all_reduce_list_async(context, &list, static_cast<dtrain_op>(asked.argument),
                                            &asked.options, error);
      });
}

/// all_reduce_quorum(row, op, (ranks, deadline_ms, late, behind_max), options, kept): of one
/// tensor. The result of the work lists ranks.
PyObject* all_reduce_quorum(PyObject* self, PyObject* arguments) {
  CallArguments call;
  call.buffers.type = DTRAIN_INT32;
  dtrain_quorum quorum = {.struct_size = sizeof quorum};
  PyObject* row = nullptr;
  PyObject* options = nullptr;
  TensorList tensors;
  if (PyArg_ParseTuple(arguments, "Oi(iiii)OO", &row, &call.argument, &quorum.ranks,
                       &quorum.deadline_ms, &quorum.late, &quorum.behind_max, &options,
                       &call.kept) == 0 ||
      !read_options(options, call) || !read_tensor(row, tensors) || PyErr_Occurred() != nullptr)
    return nullptr;
  return start_call(
      self, call, [&](dtrain_context* context, CallArguments& asked, dtrain_error* error) {
        const dtrain_tensor_list list = tensors.get();
        return dtrain_all_reduce_quorum_async(
            context, &list, static_cast<dtrain_op>(asked.argument), &quorum, &asked.options, error);
      });
}

PyObject* reduce(PyObject* self, PyObject* arguments) {
  return start(
      self, arguments, [](dtrain_context* context, CallArguments& call, dtrain_error* error) {
        return dtrain_reduce_async(context, call.buffers, static_cast<dtrain_op>(call.argument),
                                   call.root, &call.options, error);
      });
}

}  // namespace

PyMethodDef* operation_methods() {
  static std::array methods = {
      PyMethodDef{"all_reduce", with_op<dtrain_all_reduce_async>, METH_VARARGS, nullptr},
      PyMethodDef{"broadcast", with_argument<dtrain_broadcast_async>, METH_VARARGS, nullptr},
      PyMethodDef{"reduce_scatter", with_op<dtrain_reduce_scatter_async>, METH_VARARGS, nullptr},
      PyMethodDef{"gather", with_argument<dtrain_gather_async>, METH_VARARGS, nullptr},
      PyMethodDef{"scatter", with_argument<dtrain_scatter_async>, METH_VARARGS, nullptr},
      PyMethodDef{"send", with_argument<dtrain_send_async>, METH_VARARGS, nullptr},
      PyMethodDef{"recv", with_argument<dtrain_recv_async>, METH_VARARGS, nullptr},
      PyMethodDef{"all_gather", with_buffers<dtrain_all_gather_async>, METH_VARARGS, nullptr},
      PyMethodDef{"all_gather_v", with_buffers<dtrain_all_gather_v_async>, METH_VARARGS, nullptr},
      PyMethodDef{"all_to_all", with_buffers<dtrain_all_to_all_async>, METH_VARARGS, nullptr},
      PyMethodDef{"all_to_all_v", with_counts<dtrain_all_to_all_v_async>, METH_VARARGS, nullptr},
      PyMethodDef{"reduce_scatter_v", with_counts<dtrain_reduce_scatter_v_async>, METH_VARARGS,
                  nullptr},
      PyMethodDef{"all_reduce_list", all_reduce_list, METH_VARARGS, nullptr},
      PyMethodDef{"all_reduce_quorum", all_reduce_quorum, METH_VARARGS, nullptr},
      PyMethodDef{"reduce", reduce, METH_VARARGS, nullptr},
      PyMethodDef{"barrier", without_buffers<dtrain_barrier_async>, METH_VARARGS, nullptr},
      PyMethodDef{"join", without_buffers<dtrain_join_async>, METH_VARARGS, nullptr},
      PyMethodDef{nullptr, nullptr, 0, nullptr},
  };
  return methods.data();
}

}  // namespace dt::python
