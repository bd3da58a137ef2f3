#include "python/core/interruptible.h"

namespace dt::python {

bool on_main_thread() {
  bool main = true;
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* thread =
      threading != nullptr ? PyObject_CallMethod(threading, "main_thread", nullptr) : nullptr;
  PyObject* ident = thread != nullptr ? PyObject_GetAttrString(thread, "ident") : nullptr;
  if (ident != nullptr && PyLong_Check(ident))
    main = PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
  PyErr_Clear();
  Py_XDECREF(ident);
  Py_XDECREF(thread);
  Py_XDECREF(threading);
  return main;
}

}  // namespace dt::python
