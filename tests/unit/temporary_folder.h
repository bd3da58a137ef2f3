#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace dt {

/// A new, empty folder under /tmp, removed with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/dtrain-unit-XXXXXX";
    path_ = mkdtemp(name);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  void write(std::string_view name, std::string_view text, mode_t mode = 0600) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    chmod(file.c_str(), mode);
  }
  std::string read(std::string_view name) const {
    std::ifstream file(std::filesystem::path(path_) / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

}  // namespace dt
