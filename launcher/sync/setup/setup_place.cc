#include "launcher/sync/setup/setup_place.h"

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/format.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>

namespace dt {
namespace {

/// Where a shell looks without a PATH.
constexpr std::string_view usual_path = "/usr/local/bin:/usr/bin:/bin";

/// Returns the value of a variable, which may be changed; null: it is not set.
std::string* find_setting(std::vector<std::string>& environment, std::string_view beginning) {
  const auto found = std::ranges::find_if(
      environment, [&](const std::string& setting) { return setting.starts_with(beginning); });
  return found == environment.end() ? nullptr : &*found;
}

}  // namespace

std::string setups_folder(const std::string& store) {
  return store + "/setups";
}

SetupPaths setup_paths(const std::string& store, const std::string& name) {
  const std::string folder = format("{}/{}", setups_folder(store), name);
  return {.folder = folder, .lock = folder + ".lock", .record = folder + ".done"};
}

std::string digest_digits(const Digest& digest) {
  std::string text;
  for (const std::byte byte : digest)
    text += format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::string setup_name(const SetupOrder& order) {
  const Bytes all = Writer().text(order.source).text(order.target).texts(order.commands).take();
  return digest_digits(sha256(all));
}

SetupPlace setup_place(const std::string& folder) {
  struct stat bin = {};
  const bool has_bin = ::stat((folder + "/bin").c_str(), &bin) == 0 && S_ISDIR(bin.st_mode);
  return {.folder = folder, .has_bin = has_bin};
}

void add_setup_variables(const SetupPlace& place, std::vector<std::string>& environment) {
  constexpr std::string_view folder_is = "DTRAIN_SETUP_DIR=";
  std::string setting = std::string(folder_is) + place.folder;
  if (std::string* given = find_setting(environment, folder_is)) {
    *given = std::move(setting);
  } else {
    environment.push_back(std::move(setting));
  }
  if (!place.has_bin) return;
  constexpr std::string_view path_is = "PATH=";
  const std::string bin = place.folder + "/bin";
  if (std::string* given = find_setting(environment, path_is)) {
    given->insert(path_is.size(), given->size() == path_is.size() ? bin : bin + ":");
  } else {
    environment.push_back(format("{}{}:{}", path_is, bin, usual_path));
  }
}

}  // namespace dt
