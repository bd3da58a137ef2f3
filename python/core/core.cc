#include "python/core/core.h"

#include "comm/include/dtrain/dtrain.h"
#include "comm/include/dtrain/dtrain_device.h"

#include <array>
#include <cstring>

namespace dt::python {

namespace {

constexpr std::array numbers = {
    NamedNumber{"INT8", DTRAIN_INT8},
    NamedNumber{"UINT8", DTRAIN_UINT8},
    NamedNumber{"INT16", DTRAIN_INT16},
    NamedNumber{"UINT16", DTRAIN_UINT16},
    NamedNumber{"INT32", DTRAIN_INT32},
    NamedNumber{"UINT32", DTRAIN_UINT32},
    NamedNumber{"INT64", DTRAIN_INT64},
    NamedNumber{"UINT64", DTRAIN_UINT64},
    NamedNumber{"FLOAT16", DTRAIN_FLOAT16},
    NamedNumber{"BFLOAT16", DTRAIN_BFLOAT16},
    NamedNumber{"FLOAT32", DTRAIN_FLOAT32},
    NamedNumber{"FLOAT64", DTRAIN_FLOAT64},
    NamedNumber{"BOOL", DTRAIN_BOOL},
    NamedNumber{"OPAQUE", DTRAIN_OPAQUE},
    NamedNumber{"FLOAT8_E4M3", DTRAIN_FLOAT8_E4M3},
    NamedNumber{"FLOAT8_E5M2", DTRAIN_FLOAT8_E5M2},
    NamedNumber{"SUM", DTRAIN_SUM},
    NamedNumber{"AVERAGE", DTRAIN_AVERAGE},
    NamedNumber{"MIN", DTRAIN_MIN},
    NamedNumber{"MAX", DTRAIN_MAX},
    NamedNumber{"PRODUCT", DTRAIN_PRODUCT},
    NamedNumber{"ADASUM", DTRAIN_ADASUM},
    NamedNumber{"ERROR_INPUT", DTRAIN_ERROR_INPUT},
    NamedNumber{"ERROR_SYSTEM", DTRAIN_ERROR_SYSTEM},
    NamedNumber{"ERROR_UNREACHABLE", DTRAIN_ERROR_UNREACHABLE},
    NamedNumber{"ERROR_REFUSED", DTRAIN_ERROR_REFUSED},
    NamedNumber{"ERROR_CLOSED", DTRAIN_ERROR_CLOSED},
    NamedNumber{"ERROR_TIMEOUT", DTRAIN_ERROR_TIMEOUT},
    NamedNumber{"ERROR_PROTOCOL", DTRAIN_ERROR_PROTOCOL},
    NamedNumber{"ERROR_MISMATCH", DTRAIN_ERROR_MISMATCH},
    NamedNumber{"ERROR_PEER_LOST", DTRAIN_ERROR_PEER_LOST},
};

PyObject* version(PyObject* /*module*/, PyObject* /*none*/) {
  return PyUnicode_FromString(dtrain_version());
}

PyObject* nccl_version(PyObject* /*module*/, PyObject* /*none*/) {
  return PyLong_FromLong(dtrain_nccl_version());
}

/// Adds a type to the module. The module's state owns one reference, and the module another.
int add_type(PyObject* module, PyTypeObject*& place, PyObject* type) {
  if (type == nullptr) return -1;
  place = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddType(module, place);
}

int execute(PyObject* module) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "dtrain runs in the main interpreter only, not in a subinterpreter");
    return -1;
  }
  auto* state = static_cast<CoreState*>(PyModule_GetState(module));
  if (add_type(module, state->context_type, make_context_type(module)) < 0) return -1;
  if (add_type(module, state->work_type, make_work_type(module)) < 0) return -1;
  for (const NamedNumber& row : numbers) {
    if (PyModule_AddIntConstant(module, row.name, row.number) < 0) return -1;
  }
  return 0;
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  auto* state = static_cast<CoreState*>(PyModule_GetState(module));
  if (state == nullptr) return 0;
  Py_VISIT(state->context_type);
  Py_VISIT(state->work_type);
  return 0;
}

int clear(PyObject* module) {
  auto* state = static_cast<CoreState*>(PyModule_GetState(module));
  if (state == nullptr) return 0;
  Py_CLEAR(state->context_type);
  Py_CLEAR(state->work_type);
  return 0;
}

PyModuleDef* definition() {
  static std::array methods = {
      PyMethodDef{"version", version, METH_NOARGS, nullptr},
      PyMethodDef{"nccl_version", nccl_version, METH_NOARGS, nullptr},
      PyMethodDef{"init", init_context, METH_VARARGS, nullptr},
      PyMethodDef{"wait_any", wait_any, METH_VARARGS, nullptr},
      PyMethodDef{"address", buffer_address, METH_O, nullptr},
      PyMethodDef{"capsule", describe_capsule, METH_O, nullptr},
      PyMethodDef{"loaded_libraries", loaded_libraries, METH_O, nullptr},
      PyMethodDef{nullptr, nullptr, 0, nullptr},
  };
  static std::array slots = {
      PyModuleDef_Slot{Py_mod_exec, reinterpret_cast<void*>(execute)},
      PyModuleDef_Slot{0, nullptr},
  };
  static PyModuleDef module = {
      .m_base = PyModuleDef_HEAD_INIT,
      .m_name = "dtrain._core",
      .m_doc = nullptr,
      .m_size = sizeof(CoreState),
      .m_methods = methods.data(),
      .m_slots = slots.data(),
      .m_traverse = traverse,
      .m_clear = clear,
      .m_free = nullptr,
  };
  return &module;
}

}  // namespace

PyObject* raise_failure(const dtrain_error& failure) {
  if (PyErr_CheckSignals() != 0) return nullptr;
  PyObject* package = PyImport_ImportModule("dtrain._errors");
  if (package == nullptr) return nullptr;
  PyObject* text =
      PyUnicode_DecodeUTF8(failure.text, static_cast<Py_ssize_t>(strlen(failure.text)), "replace");
  PyObject* error = text == nullptr ? nullptr
                                    : PyObject_CallMethod(package, "error_of", "iiO", failure.code,
                                                          failure.rank, text);
  if (error != nullptr) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_XDECREF(error);
  Py_XDECREF(text);
  Py_DECREF(package);
  return nullptr;
}

}  // namespace dt::python

// NOLINTNEXTLINE(readability-identifier-naming): the name that Python asks for
PyMODINIT_FUNC PyInit__core() {
  return PyModuleDef_Init(dt::python::definition());
}
