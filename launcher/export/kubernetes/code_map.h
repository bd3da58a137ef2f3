#pragma once

#include "launcher/export/export_job.h"
#include "launcher/export/yaml_text.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// The most bytes of code in a ConfigMap. `kubectl apply` keeps a second copy of an object in an
/// annotation, which has at most 256 KiB.
inline constexpr uint64_t code_bytes_max = uint64_t{180} << 10;

/// The code of a job as a ConfigMap, and the volume that has its files at their paths.
struct CodeMap {
  YamlValue object;
  YamlValue volume;
  std::vector<std::string> left_out;  ///< paths that a volume cannot have
};

/// Returns the ConfigMap JOB-code. Files that are no UTF-8 are in it in base64.
CodeMap code_map(const std::vector<CodeFile>& files, const std::string& job);

}  // namespace dt
