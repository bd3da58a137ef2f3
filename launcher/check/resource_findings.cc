#include "launcher/check/resource_findings.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/check/units.h"
#include "launcher/process/open_files.h"

#include <algorithm>
#include <optional>

namespace dt {

namespace {

constexpr int64_t mebi = int64_t{1} << 20;
constexpr int64_t gibi = int64_t{1} << 30;

/// The memory of Python with a framework loaded, without a model.
constexpr int64_t memory_a_task = 512 * mebi;
/// The default of every distribution; libraries depend on it.
constexpr int64_t open_files_soft_min = 1024;
/// Data loaders and NCCL raise their soft limit up to the hard limit.
constexpr int64_t open_files_hard_min = 4096;
/// The kernel's default for decades: a smaller limit was set on purpose.
constexpr int64_t locked_memory_min = 64 << 10;
/// NCCL needs about 10 MB for each channel of each task, and PyTorch's data loaders pass batches in
/// shared memory. Docker's default is 64 MiB.
constexpr int64_t shared_memory_min = gibi;
/// Enough for caches, compiled kernels and a small checkpoint.
constexpr int64_t disk_min = gibi;
/// Below this, programs that write files fail, even Python with its temporary files.
constexpr int64_t disk_failure = 16 * mebi;

std::string limit_text(const std::optional<int64_t>& limit) {
  return limit ? format("{}", *limit) : "unlimited";
}

/// "8 NVIDIA H100", or each model with its count.
std::string gpu_names(const std::vector<Gpu>& gpus) {
  std::vector<std::string> kinds;
  for (size_t at = 0; at < gpus.size();) {
    size_t next = at;
    while (next < gpus.size() && gpus[next].name == gpus[at].name)
      ++next;
    kinds.push_back(format("{} {}", next - at, printable(gpus[at].name)));
    at = next;
  }
  return join(kinds, ", ");
}

/// Returns the first of the GPUs' settings or connections that keeps collectives from them; none:
/// all is well.
std::optional<Finding> gpu_obstacle(const GpuList& list) {
  const auto index_of = [&](const std::string& uuid) {
    const auto found = std::ranges::find(list.gpus, uuid, &Gpu::uuid);
    return found == list.gpus.end() ? -1 : found->index;
  };
  for (const Gpu& gpu : list.gpus) {
    if (gpu.compute_mode != "prohibited") continue;
    return Finding{"gpus", Grade::warning,
                   format("GPU {} accepts no program: its compute mode is prohibited", gpu.index),
                   "try there: nvidia-smi -c DEFAULT"};
  }
  for (const GpuPair& pair : list.pairs) {
    const int first = index_of(pair.first);
    const int second = index_of(pair.second);
    if (pair.obstacle.empty() || first < 0 || second < 0) continue;
    return Finding{"gpus", Grade::warning,
                   format("GPUs {} and {} cannot use each other's memory: {}", first, second,
                          printable(pair.obstacle)),
                   "collectives go through the host's memory; ACS, an IOMMU or a virtual machine "
                   "can be the cause (iommu=pt); see: nvidia-smi topo -p2p rw"};
  }
  return std::nullopt;
}

/// Returns ", NVLink" when it connects all of several GPUs.
std::string nvlink_text(const GpuList& list) {
  const auto by_nvlink = [](const GpuPair& pair) { return pair.path == "NVLink"; };
  return !list.pairs.empty() && std::ranges::all_of(list.pairs, by_nvlink) ? ", NVLink" : "";
}

Finding gpu_finding(const HostDiagnostics& host, int slots, const Usual& usual) {
  const size_t count = host.gpus.gpus.size();
  const auto warning = [](std::string text, std::string remedy) {
    return Finding{"gpus", Grade::warning, std::move(text), std::move(remedy)};
  };
  if (!host.gpu_failure.empty()) {
    return warning(printable(host.gpu_failure, 300), "try there: nvidia-smi");
  }
  if (count == 0 && host.gpus_on_bus > 0) {
    return warning(
        format("{} of NVIDIA's on the PCI bus, and no driver for them", host.gpus_on_bus),
        "install NVIDIA's driver; in a container: docker run --gpus all");
  }
  const std::string text = count == 0
                               ? "none"
                               : format("{}, driver {}, CUDA {}{}", gpu_names(host.gpus.gpus),
                                        printable(host.gpus.driver_version),
                                        printable(host.gpus.cuda_version), nvlink_text(host.gpus));
  if (!host.gpus.warnings.empty()) {
    return warning(text, printable(join(host.gpus.warnings, "; "), 400));
  }
  if (auto obstacle = gpu_obstacle(host.gpus)) return *obstacle;
  if (count != usual.gpus) {
    return warning(text, format("most hosts have {}; try there: nvidia-smi", usual.gpus));
  }
  if (count > 0 && host.gpus.driver_version != usual.driver) {
    return warning(text, format("most hosts have driver {}", printable(usual.driver)));
  }
  if (count > 0 && slots > static_cast<int>(count)) {
    const bool exclusive = host.gpus.gpus.front().compute_mode == "exclusive_process";
    return warning(text,
                   format("{} slots: tasks would share GPUs{}", slots,
                          exclusive ? ", and their compute mode allows one process each" : ""));
  }
  return {"gpus", Grade::ok, text};
}

Finding cores_finding(const HostDiagnostics& host, int slots) {
  const bool some = host.cpus_allowed < host.cpus_online;
  Finding finding = {"cores", Grade::ok,
                     some ? format("{} of {} may be used", host.cpus_allowed, host.cpus_online)
                          : format("{}", host.cpus_allowed)};
  if (slots > host.cpus_allowed) {
    finding.grade = Grade::warning;
    finding.remedy = format("{} slots: tasks would share cores", slots);
  }
  return finding;
}

Finding memory_finding(const HostDiagnostics& host, int slots) {
  Finding finding = {
      "memory", Grade::ok,
      format("{} free of {}", size_text(host.memory_free_bytes), size_text(host.memory_bytes))};
  const int tasks = std::max(1, slots);
  if (host.memory_free_bytes < tasks * memory_a_task) {
    finding.grade = Grade::warning;
    finding.remedy =
        format("{} task{} of a framework need{} about {}", tasks, tasks == 1 ? "" : "s",
               tasks == 1 ? "s" : "", size_text(tasks * memory_a_task));
  }
  return finding;
}

bool below(const std::optional<int64_t>& limit, int64_t wanted) {
  return limit && *limit < wanted;
}

Finding open_files_finding(const HostDiagnostics& host, int slots) {
  Finding finding = {"open_files", Grade::ok,
                     format("{}, hard limit {}", limit_text(host.open_files.soft),
                            limit_text(host.open_files.hard))};
  const auto needed =
      static_cast<int64_t>(open_files_of_tasks(slots, static_cast<uint64_t>(slots)));
  const bool too_few = slots > 0 && below(host.open_files.hard, needed);
  if (too_few) {
    finding.grade = Grade::failure;
    finding.remedy = format(
        "{} tasks need {}: raise the hard limit of nofile in "
        "/etc/security/limits.conf",
        slots, needed);
  } else if (below(host.open_files.soft, open_files_soft_min) ||
             below(host.open_files.hard, open_files_hard_min)) {
    finding.grade = Grade::warning;
    finding.remedy = format(
        "data loaders and NCCL want {}, hard limit {}: nofile in "
        "/etc/security/limits.conf",
        open_files_soft_min, open_files_hard_min);
  }
  return finding;
}

Finding locked_memory_finding(const HostDiagnostics& host) {
  const std::optional<int64_t>& soft = host.locked_memory.soft;
  Finding finding = {"locked_memory", Grade::ok, soft ? size_text(*soft) : "unlimited"};
  // InfiniBand and RoCE lock all their buffers. CUDA's pinned memory does not count.
  if (host.rdma_devices > 0 && soft) {
    finding.grade = Grade::warning;
    finding.remedy =
        "RDMA wants it unlimited: memlock in /etc/security/limits.conf, or docker run --ulimit "
        "memlock=-1";
  } else if (below(soft, locked_memory_min)) {
    finding.grade = Grade::warning;
    finding.remedy = format("programs count on {}: memlock in /etc/security/limits.conf",
                            size_text(locked_memory_min));
  }
  return finding;
}

Finding shared_memory_finding(const Room& room) {
  constexpr const char* remedy =
      "NCCL and data loaders want 1 GiB: docker run --shm-size=1g or --ipc=host; else remount "
      "/dev/shm larger";
  if (!room.free_bytes) return {"shared_memory", Grade::warning, "there is no /dev/shm", remedy};
  Finding finding = {"shared_memory", Grade::ok,
                     format("{} free of {} in /dev/shm", size_text(*room.free_bytes),
                            size_text(room.bytes.value_or(0)))};
  if (*room.free_bytes < shared_memory_min) {
    finding.grade = Grade::warning;
    finding.remedy = remedy;
  }
  return finding;
}

Finding disk_finding(const std::string& topic, const Room& room) {
  const std::string path = printable(room.path, 200);
  if (!room.free_bytes) {
    return {topic, Grade::warning, path.empty() ? "HOME is not set" : path + " cannot be examined",
            "programs keep their settings and caches there"};
  }
  Finding finding = {topic, Grade::ok,
                     format("{} free of {} in {}", size_text(*room.free_bytes),
                            size_text(room.bytes.value_or(0)), path)};
  if (*room.free_bytes >= disk_min) return finding;
  finding.grade = *room.free_bytes < disk_failure ? Grade::failure : Grade::warning;
  finding.remedy = "make room there";
  return finding;
}

Finding home_finding(const HostDiagnostics& host) {
  Finding finding = disk_finding("home", host.home);
  if (host.home_failure.empty() || finding.grade != Grade::ok) return finding;
  return {"home", Grade::warning,
          format("no file can be made in {}: {}", printable(host.home.path, 200),
                 printable(host.home_failure)),
          "checkpoints and caches fail there; give programs another folder"};
}

}  // namespace

std::vector<Finding> resource_findings(const HostDiagnostics& host, int slots, const Usual& usual) {
  return {gpu_finding(host, slots, usual),
          cores_finding(host, slots),
          memory_finding(host, slots),
          open_files_finding(host, slots),
          locked_memory_finding(host),
          shared_memory_finding(host.shared_memory),
          home_finding(host),
          disk_finding("temporary", host.temporary)};
}

}  // namespace dt
