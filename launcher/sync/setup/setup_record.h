#pragma once

#include "base/crypto.h"
#include "base/result.h"

#include <cstddef>
#include <map>
#include <string>

namespace dt {

/// The commands of a setup that succeeded in its folder, by their place in the order, each with the
/// digest of the files that it named. The commands themselves are part of the folder's name.
class SetupRecord {
 public:
  /// Reads the file. One that is missing or broken is an empty record: the commands run again.
  static SetupRecord read(const std::string& path);

  bool has(size_t command, const Digest& files) const;
  /// Changes the record and its file, which is replaced as a whole.
  Result<> add(size_t command, const Digest& files);
  Result<> remove(size_t command);

 private:
  explicit SetupRecord(std::string path) : path_(std::move(path)) {}
  Result<> write() const;
  std::string path_;
  std::map<size_t, std::string> done_;  ///< digests in hex
};

}  // namespace dt
