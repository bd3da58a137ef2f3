#pragma once

#include "base/format.h"
#include "launcher/config/hosts/hosts.h"

#include <string>

namespace dt {

/// Returns a list as text: the hosts ("a:2/4" has max_slots 4) and warnings, or the error.
inline std::string shown(const Result<HostList>& list) {
  if (!list) return list.error().message;
  std::string all;
  for (const Host& host : list->hosts)
    all += (all.empty() ? "" : " ") + host.text() +
           (host.max_slots == 0 ? "" : format("/{}", host.max_slots));
  for (const std::string& warning : list->warnings)
    all += " | " + warning;
  return all;
}

/// A text, and its list as text.
struct HostsCase {
  std::string text;
  std::string shown;
};

}  // namespace dt
