#include "python/core/core.h"

#include <link.h>

#include <string>
#include <string_view>
#include <vector>

namespace dt::python {

namespace {

struct Search {
  std::string_view part;
  std::vector<std::string> paths;
};

int collect(dl_phdr_info* info, size_t /*size*/, void* data) {
  auto* search = static_cast<Search*>(data);
  const std::string_view path = info->dlpi_name;
  if (path.find(search->part) != std::string_view::npos) search->paths.emplace_back(path);
  return 0;
}

}  // namespace

PyObject* loaded_libraries(PyObject* /*module*/, PyObject* part) {
  PyObject* bytes = PyUnicode_EncodeFSDefault(part);
  if (bytes == nullptr) return nullptr;
  Search search = {.part = PyBytes_AsString(bytes), .paths = {}};
  dl_iterate_phdr(collect, &search);
  Py_DECREF(bytes);
  PyObject* list = PyList_New(0);
  for (const std::string& path : search.paths) {
    PyObject* text = list == nullptr ? nullptr : PyUnicode_DecodeFSDefault(path.c_str());
    if (text == nullptr || PyList_Append(list, text) < 0) {
      Py_XDECREF(text);
      Py_XDECREF(list);
      return nullptr;
    }
    Py_DECREF(text);
  }
  return list;
}

}  // namespace dt::python
