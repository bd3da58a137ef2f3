#include "launcher/export/kubernetes/code_map.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("code is a ConfigMap whose keys stand for paths") {
  const CodeMap map = code_map({{.path = "pkg/a.py", .content = "import b\nb.c()\n"},
                                {.path = "pkg.a.py", .content = "x"},
                                {.path = "run me.sh", .content = "y", .is_executable = true},
                                {.path = ".hidden", .content = ""},
                                {.path = "net.bin", .content = "\xff\x01"},
                                {.path = "..odd", .content = "z"}},
                               "job");
  CHECK(yaml_text(map.object).value() == R"(apiVersion: v1
kind: ConfigMap
metadata:
  name: job-code
  labels:
    app.kubernetes.io/name: job
data:
  pkg.a.py: |
    import b
    b.c()
  pkg.a.py.1: x
  run_me.sh: "y"
  _.hidden: ""
binaryData:
  net.bin: /wE=
)");
  CHECK(yaml_text(map.volume).value() == R"(name: code
configMap:
  name: job-code
  items:
    - key: pkg.a.py
      path: pkg/a.py
    - key: pkg.a.py.1
      path: pkg.a.py
    - key: run_me.sh
      path: "run me.sh"
      mode: 365
    - key: _.hidden
      path: ".hidden"
    - key: net.bin
      path: net.bin
)");
  CHECK(map.left_out == std::vector<std::string>{"..odd"});
}

}  // namespace
}  // namespace dt
