#include "launcher/export/kubernetes/pod_volumes.h"

#include "launcher/export/kubernetes/code_map.h"
#include "tests/unit/launcher/export/fixture.h"

namespace dt {
namespace {

ExportJob job_with_mounts(std::string_view mounts) {
  return exported_job("command = 'x'\nnp = 1\n" + std::string(mounts));
}

TEST_CASE("mounts and claims become volumes of their kinds") {
  const ExportJob job = job_with_mounts(
      "[[mounts]]\nsource = 'nfs://store/a'\ntarget = '/a'\nread-only = true\n"
      "[[mounts]]\nsource = '/srv/b'\ntarget = '/b'\n"
      "[[mounts]]\nsource = 's:/c'\ntarget = '/c'\ncommand = 'sshfs s:/c {target}'\n");
  KubernetesOptions options;
  REQUIRE(add_claim(options.claims, "disk:/d:ro"));
  const PodVolumes volumes = pod_volumes(job, options).value();
  std::string text;
  for (const PodVolume& volume : volumes.all)
    text += volume.target + "\n" + yaml_text(volume.source).value();
  CHECK(text == R"(/d
name: claim-0
persistentVolumeClaim:
  claimName: disk
  readOnly: true
/a
name: mount-1
nfs:
  server: store
  path: /a
  readOnly: true
/b
name: mount-2
hostPath:
  path: /srv/b
  type: Directory
)");
  CHECK(volumes.left_out ==
        std::vector<std::string>{"the mount of s:/c at /c, which a command makes"});
  REQUIRE(volumes.warnings.size() == 1);
  CHECK(volumes.warnings[0].starts_with("the mount of /srv/b is a folder of each node"));
}

TEST_CASE("two mounts at one place, and odd names of claims and places, are refused") {
  KubernetesOptions options;
  REQUIRE(add_claim(options.claims, "disk:/a"));
  CHECK(!pod_volumes(job_with_mounts("[[mounts]]\nsource = '/srv'\ntarget = '/a'\n"), options));
  KubernetesOptions odd;
  REQUIRE(add_claim(odd.claims, "My_Disk:/a"));
  CHECK(!pod_volumes(job_with_mounts(""), odd));
  const auto colon =
      pod_volumes(job_with_mounts("[[mounts]]\nsource = '/srv'\ntarget = '/a:b'\n"), {});
  REQUIRE(!colon);
  CHECK(colon.error().message ==
        "the mount at /a:b: Kubernetes takes no : in the place of a mount; give another folder");
}

TEST_CASE("code that a ConfigMap cannot hold must be in the image") {
  ExportJob job = exported_job("command = 'x'\nnp = 1\n[code]\npath = '.'\n");
  job.code->files = {{.path = "a.py", .content = "pass"}};
  job.code->bytes = code_bytes_max;
  PodVolumes volumes = pod_volumes(job, {}).value();
  CHECK(volumes.objects.size() == 1);
  REQUIRE(volumes.all.size() == 1);
  CHECK(volumes.all[0].target == "/code");
  job.code->bytes = code_bytes_max + 1;
  volumes = pod_volumes(job, {}).value();
  CHECK(volumes.objects.empty());
  CHECK(volumes.all.empty());
  CHECK(volumes.left_out ==
        std::vector<std::string>{"the code of 184321 bytes, since a ConfigMap has at most 184320; "
                                 "the image must have it at /code"});
}

}  // namespace
}  // namespace dt
