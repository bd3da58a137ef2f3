#include "gpu/visible.h"

#include "base/text.h"

#include <algorithm>

namespace dt {

namespace {

bool is_uuid(std::string_view entry) {
  return entry.starts_with("GPU-") || entry.starts_with("MIG-");
}

/// Returns the one GPU that the entry names: by an index, a UUID, or the beginning of exactly one.
const Gpu* named(const std::vector<Gpu>& all, std::string_view entry) {
  if (const auto index = parse_integer(entry)) {
    // If the GPU is in MIG mode, CUDA uses its first instance.
    const auto at = std::ranges::find_if(all, [&](const Gpu& gpu) { return gpu.index == *index; });
    return at == all.end() ? nullptr : &*at;
  }
  if (!is_uuid(entry)) return nullptr;
  const auto fits = [&](const Gpu& gpu) { return gpu.uuid.starts_with(entry); };
  const auto at = std::ranges::find_if(all, fits);
  const bool only = std::ranges::count_if(all, fits) == 1;
  return only ? &*at : nullptr;
}

std::vector<Gpu> in_container(const std::vector<Gpu>& all, const std::string& variable) {
  const std::string_view text = trim(variable);
  if (text.empty() || text == "none" || text == "void") return {};
  const std::vector<std::string_view> entries = split(text, ',');
  if (!std::ranges::all_of(entries, is_uuid)) return all;
  std::vector<Gpu> gpus;
  for (const Gpu& gpu : all) {
    const auto is_listed = [&](std::string_view entry) {
      return gpu.uuid == entry || gpu.parent == entry;
    };
    if (std::ranges::any_of(entries, is_listed)) gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace

std::vector<Gpu> visible_gpus(const std::vector<Gpu>& all, const VisibleVariables& variables) {
  std::vector<Gpu> gpus = variables.nvidia ? in_container(all, *variables.nvidia) : all;
  if (!variables.cuda) return gpus;
  std::vector<Gpu> chosen;
  for (const std::string_view word : split(*variables.cuda, ',')) {
    const std::string_view entry = trim(word);
    const Gpu* const gpu = named(gpus, entry);
    const bool again =
        gpu != nullptr && std::ranges::find(chosen, gpu->uuid, &Gpu::uuid) != chosen.end();
    if (gpu == nullptr || again) break;
    chosen.push_back(*gpu);
    chosen.back().visible_as = entry;
  }
  return chosen;
}

}  // namespace dt
