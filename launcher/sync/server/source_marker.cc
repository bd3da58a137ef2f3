#include "launcher/sync/server/source_marker.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "launcher/sync/manifest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dt {

SourceMarker::SourceMarker(const std::string& root, const std::string& job) : root_(root) {
  const bool is_git = names_folder(root + "/.git");
  const std::string folder = is_git ? ".git" : std::string(Manifest::own_folder);
  if (!is_git) ::mkdir(format("{}/{}", root, folder).c_str(), 0700);
  name_ = format("{}/dtrain-source-{}", folder, job);
  const Fd file(::open(format("{}/{}", root, name_).c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) name_.clear();
}

SourceMarker::~SourceMarker() {
  if (name_.empty()) return;
  ::unlink(format("{}/{}", root_, name_).c_str());
  // It stays if it is a target's.
  ::rmdir(format("{}/{}", root_, Manifest::own_folder).c_str());
}

}  // namespace dt
