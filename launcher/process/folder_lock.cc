#include "launcher/process/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

namespace dt {

Fd lock_folder(const std::string& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  return folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(folder) : Fd();
}

}  // namespace dt
