#include "launcher/process/topology.h"

#include "base/format.h"

#include <hwloc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

namespace dt {

namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

/// Keeps hwloc from loading plugins of the machine: they are built for another version of hwloc.
class WithoutPlugins {
 public:
  // NOLINTBEGIN(concurrency-mt-unsafe): launcher and agent have one thread
  WithoutPlugins() { setenv("HWLOC_PLUGINS_PATH", "", 1); }
  ~WithoutPlugins() { unsetenv("HWLOC_PLUGINS_PATH"); }
  // NOLINTEND(concurrency-mt-unsafe)
  WithoutPlugins(const WithoutPlugins&) = delete;
  WithoutPlugins& operator=(const WithoutPlugins&) = delete;
};

Result<Handle> make_handle() {
  const WithoutPlugins no_plugins;
  hwloc_topology* topology = nullptr;
  if (hwloc_topology_init(&topology) < 0) return fail_errno("cannot read the CPU topology");
  Handle handle(topology);
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  // hwloc attaches NUMA nodes to groups of cores.
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  // The x86 component queries each CPU in turn, which is slow on large machines. The kernel's data
  // is sufficient.
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  return handle;
}

std::vector<int> numbers_of(hwloc_const_bitmap_t bitmap) {
  std::vector<int> numbers;
  for (int at = hwloc_bitmap_first(bitmap); at >= 0; at = hwloc_bitmap_next(bitmap, at))
    numbers.push_back(at);
  return numbers;
}

Result<Topology> load(const Handle& handle) {
  hwloc_topology* const topology = handle.get();
  if (hwloc_topology_load(topology) < 0) return fail_errno("cannot read the CPU topology");
  Topology result;
  // Some virtual machines report no cores; then each CPU counts as one.
  const int depth = hwloc_get_type_or_below_depth(topology, HWLOC_OBJ_CORE);
  const unsigned count = hwloc_get_nbobjs_by_depth(topology, depth);
  for (unsigned i = 0; i < count; ++i) {
    const hwloc_obj* const core = hwloc_get_obj_by_depth(topology, depth, i);
    result.cores.push_back({.cpus = numbers_of(core->cpuset),
                            .numa_node = std::max(0, hwloc_bitmap_first(core->nodeset))});
  }
  if (result.cores.empty()) return fail(Errc::os, "cannot read the CPU topology: hwloc finds none");
  return result;
}

}  // namespace

std::vector<int> Topology::cpus() const {
  std::vector<int> all;
  for (const Core& core : cores)
    all.insert(all.end(), core.cpus.begin(), core.cpus.end());
  std::ranges::sort(all);
  return all;
}

std::vector<int> Topology::numa_nodes() const {
  std::set<int> nodes;
  for (const Core& core : cores)
    nodes.insert(core.numa_node);
  return {nodes.begin(), nodes.end()};
}

std::vector<int> Topology::cpus_of_node(int node) const {
  Topology part;
  std::ranges::copy_if(cores, std::back_inserter(part.cores),
                       [node](const Core& core) { return core.numa_node == node; });
  return part.cpus();
}

Result<Topology> own_topology() {
  const Handle handle = TRY(make_handle());
  hwloc_topology_set_flags(
      handle.get(), HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  return load(handle);
}

Result<Topology> synthetic_topology(const std::string& description) {
  const Handle handle = TRY(make_handle());
  if (hwloc_topology_set_synthetic(handle.get(), description.c_str()) < 0) {
    return fail(Errc::input, format("\"{}\" describes no machine", description));
  }
  return load(handle);
}

std::string ranges_text(std::span<const int> numbers) {
  std::string text;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += format("{}{}", text.empty() ? "" : ",", numbers[first]);
    if (last > first) text += format("-{}", numbers[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace dt
