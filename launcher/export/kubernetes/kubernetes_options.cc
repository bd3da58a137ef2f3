#include "launcher/export/kubernetes/kubernetes_options.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace dt {
namespace {

constexpr std::array<std::pair<std::string_view, KubernetesKind>, 4> kinds = {{
    {"indexed-job", KubernetesKind::indexed_job},
    {"jobset", KubernetesKind::jobset},
    {"trainjob", KubernetesKind::trainjob},
    {"mpijob", KubernetesKind::mpijob},
}};

}  // namespace

std::vector<std::string> kubernetes_kinds() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds)
    names.emplace_back(name);
  return names;
}

Result<KubernetesKind> parse_kubernetes_kind(std::string_view text) {
  for (const auto& [name, kind] : kinds)
    if (name == text) return kind;
  const std::vector<std::string> names = kubernetes_kinds();
  const std::optional<std::string> guess = nearest(text, names);
  return fail(Errc::input, format("--kind: \"{}\" is none of its kinds; {}", printable(text),
                                  guess ? format("did you mean {}?", *guess)
                                        : format("they are {}", join(names, ", "))));
}

std::string kubernetes_kind_name(KubernetesKind kind) {
  const auto found = std::ranges::find(kinds, kind, &decltype(kinds)::value_type::second);
  return std::string(found->first);
}

Result<> add_claim(std::vector<Mount>& claims, std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == 0 || colon == std::string_view::npos) {
    return fail(Errc::input, format("--claim: expected NAME:TARGET or NAME:TARGET:ro, got \"{}\"",
                                    printable(text)));
  }
  return add_mount(claims, text);
}

}  // namespace dt
