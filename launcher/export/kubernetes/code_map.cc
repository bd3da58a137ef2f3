#include "launcher/export/kubernetes/code_map.h"

#include "base/base64.h"
#include "base/bytes.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/export/kubernetes/object_names.h"
#include "launcher/export/kubernetes/pod.h"

#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

namespace dt {
namespace {

/// Returns a key of a ConfigMap for this path: "pkg.train.py" for pkg/train.py.
std::string key_of(std::string_view path, std::set<std::string>& taken) {
  constexpr size_t key_bytes_max = 200;
  std::string key;
  for (const char c : path.substr(0, key_bytes_max))
    key += c == '/' ? '.' : is_of_key(c) ? c : '_';
  if (key.starts_with('.')) key.insert(0, 1, '_');
  const bool is_new = path.size() <= key_bytes_max && taken.insert(key).second;
  if (is_new) return key;
  key += format(".{}", taken.size());
  taken.insert(key);
  return key;
}

/// True for a path that a volume may have.
bool is_volume_path(std::string_view path) {
  return !path.starts_with("..") && yaml_can_hold(path);
}

}  // namespace

CodeMap code_map(const std::vector<CodeFile>& files, const std::string& job) {
  constexpr int64_t executable_mode = 0555;
  const std::string name = job + "-code";
  CodeMap map;
  YamlValue texts = YamlValue::map();
  YamlValue binaries = YamlValue::map();
  YamlValue items = YamlValue::list();
  std::set<std::string> taken;
  for (const CodeFile& file : files) {
    if (!is_volume_path(file.path)) {
      map.left_out.push_back(file.path);
      continue;
    }
    const std::string key = key_of(file.path, taken);
    if (yaml_can_hold(file.content)) {
      texts.set(key, YamlValue::text(file.content));
    } else {
      binaries.set(key, YamlValue::text(base64_encode(as_bytes(file.content))));
    }
    YamlValue item =
        YamlValue::map({{"key", YamlValue::text(key)}, {"path", YamlValue::text(file.path)}});
    if (file.is_executable) item.set("mode", YamlValue::number(executable_mode));
    items.add(std::move(item));
  }
  map.object = YamlValue::map({{"apiVersion", YamlValue::text("v1")},
                               {"kind", YamlValue::text("ConfigMap")},
                               {"metadata", object_metadata({.name = name, .job = job})}});
  if (!texts.items().empty()) map.object.set("data", std::move(texts));
  if (!binaries.items().empty()) map.object.set("binaryData", std::move(binaries));
  const YamlValue source =
      YamlValue::map({{"name", YamlValue::text(name)}, {"items", std::move(items)}});
  map.volume = YamlValue::map({{"name", YamlValue::text("code")}, {"configMap", source}});
  return map;
}

}  // namespace dt
