#pragma once

#include <string>

namespace dt {

/// A file in the tree of --sync, by which hosts find that they share it: a home on NFS is one. It
/// lies where no copy takes it, below .git or .dtrain, and is removed with this object.
class SourceMarker {
 public:
  SourceMarker(const std::string& root, const std::string& job);
  SourceMarker(const SourceMarker&) = delete;
  SourceMarker& operator=(const SourceMarker&) = delete;
  ~SourceMarker();

  /// Returns its path below the root; empty: nothing can be written there.
  const std::string& name() const { return name_; }

 private:
  std::string root_;
  std::string name_;
};

}  // namespace dt
