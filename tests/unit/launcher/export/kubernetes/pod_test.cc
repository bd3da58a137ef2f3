#include "launcher/export/kubernetes/pod.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a dollar is doubled where Kubernetes would replace it or the byte behind it") {
  CHECK(literal_text("a $HOME ${X} $ $") == "a $HOME ${X} $ $");
  CHECK(literal_text("$(X)") == "$$(X)");
  CHECK(literal_text("$$(X)") == "$$$$(X)");
  CHECK(literal_text("$$") == "$$$");
  CHECK(literal_text("$$x") == "$$$x");
  CHECK(literal_text("$ä") == "$$ä");
  CHECK(literal_texts({"", "$(", "("}) == std::vector<std::string>{"", "$$(", "("});
}

TEST_CASE("a pod has the resources of all its processes") {
  const RoleResources each = {.cpus = 2, .gpus = GpuCount{.whole = 1}, .memory_bytes = 1ULL << 30};
  const PodResources all = pod_resources(each, 4, GpuBind::none).value();
  CHECK(all == PodResources{.cpus = 8, .gpus = 4, .memory_bytes = 4ULL << 30});
  CHECK(yaml_text(resource_limits(all)).value() ==
        "limits:\n  cpu: \"8\"\n  memory: \"4Gi\"\n  nvidia.com/gpu: \"4\"\n");
  CHECK(pod_resources({}, 4, GpuBind::rank).value().gpus == 4);
  CHECK(pod_resources({}, 4, GpuBind::none).value() == PodResources());
  CHECK(resource_limits({}).kind() == YamlValue::Kind::none);
  CHECK(yaml_text(resource_limits({.memory_bytes = 100})).value() ==
        "limits:\n  memory: \"100\"\n");
}

TEST_CASE("a part of a GPU is refused") {
  const auto refused = pod_resources({.gpus = GpuCount{.sharers = 2}}, 4, GpuBind::none);
  REQUIRE(!refused);
  CHECK(refused.error().message ==
        "GPUs: 0.5 of a GPU for each process; Kubernetes gives pods whole ones; give a whole "
        "number");
}

TEST_CASE("a template has the container, its variables and volumes") {
  const Pod pod = {.image = "i",
                   .command = {"x"},
                   .environment = {variable_of_text("A", "1"), variable_of_field("B", "f"),
                                   variable_of_secret("C", "s")},
                   .subdomain = "d"};
  const YamlValue claim = YamlValue::map({{"name", YamlValue::text("v")}});
  const std::string text =
      yaml_text(
          pod_template(pod, {.job = "j",
                             .grace_seconds = 20,
                             .folder = "/code",
                             .volumes = {{.source = claim, .target = "/v", .read_only = true}}}))
          .value();
  CHECK(text == R"(metadata:
  labels:
    app.kubernetes.io/name: j
spec:
  subdomain: d
  restartPolicy: Never
  terminationGracePeriodSeconds: 20
  containers:
    - name: main
      image: i
      command: [x]
      workingDir: /code
      env:
        - name: A
          value: "1"
        - name: B
          valueFrom:
            fieldRef:
              fieldPath: f
        - name: C
          valueFrom:
            secretKeyRef:
              name: s
              key: token
      volumeMounts:
        - name: v
          mountPath: /v
          readOnly: true
        - name: shared-memory
          mountPath: /dev/shm
  volumes:
    - name: v
    - name: shared-memory
      emptyDir:
        medium: Memory
)");
}

}  // namespace
}  // namespace dt
