#include "python/core/core.h"

#include <cstdint>

namespace dt::python {

namespace {

/// The tensor in a capsule "dltensor", whose layout DLPack fixes (version 0.8, and before 1.0).
struct ForeignTensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t dims;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t type_lanes;
  const int64_t* shape;
  const int64_t* strides;  ///< in elements; null when contiguous
  uint64_t byte_offset;
};

bool contiguous(const ForeignTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t stride = 1;
  for (int i = tensor.dims - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != stride) return false;
    stride *= tensor.shape[i];
  }
  return true;
}

unsigned long long number_of(const void* address) {
  return reinterpret_cast<uintptr_t>(address);
}

}  // namespace

PyObject* buffer_address(PyObject* /*module*/, PyObject* object) {
  Py_buffer view = {};
  if (PyObject_GetBuffer(object, &view, PyBUF_STRIDES) < 0) return nullptr;
  const unsigned long long address = number_of(view.buf);
  PyBuffer_Release(&view);
  return PyLong_FromUnsignedLongLong(address);
}

PyObject* describe_capsule(PyObject* /*module*/, PyObject* capsule) {
  const auto* tensor = static_cast<const ForeignTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  if (tensor == nullptr) return nullptr;
  PyObject* shape = PyTuple_New(tensor->dims);
  for (int i = 0; shape != nullptr && i < tensor->dims; ++i) {
    PyObject* size = PyLong_FromLongLong(tensor->shape[i]);
    if (size == nullptr || PyTuple_SetItem(shape, i, size) < 0) {
      Py_DECREF(shape);
      return nullptr;
    }
  }
  if (shape == nullptr) return nullptr;
  const unsigned long long address = number_of(tensor->data) + tensor->byte_offset;
  return Py_BuildValue("(KNiiiiO)", address, shape, static_cast<int>(tensor->type_code),
                       static_cast<int>(tensor->type_bits), static_cast<int>(tensor->type_lanes),
                       static_cast<int>(tensor->device_type),
                       contiguous(*tensor) ? Py_True : Py_False);
}

}  // namespace dt::python
