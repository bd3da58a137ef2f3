#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/io/fd.h"
#include "base/result.h"
#include "launcher/sync/manifest.h"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

namespace dt {

/// Receives the content of one entry into a new file, which the destructor removes before
/// commit().
class ContentWriter {
 public:
  /// The file, below `folder`.
  struct Place {
    std::string folder;
    std::string draft;  ///< its name until commit()
    std::string whole;  ///< its name then, which may be the same
    mode_t mode = 0600;
  };

  /// Fails with Errc::os where the file cannot be made.
  static Result<ContentWriter> create(const TreeEntry& entry, Place place);
  ContentWriter(ContentWriter&&) noexcept = default;
  ContentWriter& operator=(ContentWriter&&) = delete;
  ~ContentWriter();

  /// Fails with Errc::protocol for more bytes than the entry has, and with Errc::os for a full
  /// disk.
  Result<> write(ByteSpan bytes);
  /// Gives the file its name. Fails with Errc::protocol when size or digest do not fit.
  Result<> commit();

 private:
  ContentWriter(const TreeEntry& entry, Place place, Fd file)
      : entry_(entry), place_(std::move(place)), file_(std::move(file)) {}
  std::string path_of(const std::string& name) const { return place_.folder + "/" + name; }

  TreeEntry entry_;
  Place place_;
  Fd file_;
  uint64_t received_ = 0;
  Sha256 hash_ = {};
};

}  // namespace dt
