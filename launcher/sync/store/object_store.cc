#include "launcher/sync/store/object_store.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/sync/file_facts.h"
#include "launcher/sync/store/file_copy.h"
#include "launcher/sync/store/folder_walk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace dt {

namespace {

constexpr std::string_view draft_prefix = "new.";
constexpr std::string_view lock_name = "lock";
constexpr auto draft_age = std::chrono::hours(24);
/// Objects that were used this recently may be those of a running job.
constexpr auto use_age = std::chrono::hours(24);
/// A use is noted this often: on NFS, each note takes a round trip.
constexpr int64_t note_ns = int64_t{3600} * 1'000'000'000;

int64_t clock_ns(clockid_t clock) {
  struct timespec now = {};
  ::clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

WallClock::time_point time_of(const FileFacts& facts) {
  return WallClock::time_point(
      std::chrono::duration_cast<WallClock::duration>(std::chrono::nanoseconds(facts.mtime_ns)));
}

/// An object's file, as the bound needs it.
struct StoredObject {
  std::string path;
  FileFacts facts;
};

bool is_draft(const StoredObject& object) {
  const std::string_view path = object.path;
  return path.substr(path.rfind('/') + 1).starts_with(draft_prefix);
}

/// Returns all objects and drafts, those of the longest unused first.
std::vector<StoredObject> objects_by_use(const std::string& folder) {
  std::vector<StoredObject> objects;
  std::error_code ended;
  for (std::filesystem::directory_iterator at(folder, ended), last; !ended && at != last;
       at.increment(ended)) {
    const std::string path = at->path().string();
    struct stat status = {};
    if (at->path().filename() == lock_name || ::lstat(path.c_str(), &status) != 0) continue;
    objects.push_back({path, facts_of(status)});
  }
  std::ranges::sort(objects, {}, [](const StoredObject& o) { return o.facts.mtime_ns; });
  return objects;
}

/// True if a job holds the lock. Takes it otherwise.
bool is_held(const Fd& lock) {
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/// Opened for writing: an exclusive flock(2) on NFS needs that.
Fd open_objects_lock(const std::string& folder, int create) {
  const std::string path = format("{}/{}", folder, lock_name);
  return Fd(::open(path.c_str(), O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, 0600));
}

}  // namespace

std::string object_name(const Digest& digest) {
  std::string name;
  name.reserve(2 * digest.size());
  constexpr std::string_view digits = "0123456789abcdef";
  for (const std::byte b : digest) {
    name += digits[std::to_integer<size_t>(b >> 4)];
    name += digits[std::to_integer<size_t>(b & std::byte{15})];
  }
  return name;
}

Result<ObjectStore> ObjectStore::open(const StoreFolder& folder,
                                      std::optional<int64_t> trusted_since_ns) {
  std::string path = TRY(folder.folder("objects"));
  ObjectStore store(std::move(path));
  do {
    TRY(folder.folder("objects"));
    store.lock_ = open_objects_lock(store.path_, O_CREAT);
    if (!store.lock_ && errno != ENOENT) {
      return fail(Errc::os, format("cannot open the lock of {}: {}", printable_path(store.path_),
                                   errno_text(errno)));
    }
    // Without locks, as on some NFS, nothing that was used in the last day is removed (finish).
    if (store.lock_) static_cast<void>(::flock(store.lock_.get(), LOCK_SH));
    // clear_objects() may have removed the lock in between.
  } while (!is_at(store.lock_, format("{}/{}", store.path_, lock_name)));
  const int64_t started_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
  store.trusted_since_ns_ = trusted_since_ns.value_or(started_ns);
  return store;
}

bool ObjectStore::has(const TreeEntry& entry) const {
  const std::string path = format("{}/{}", path_, object_name(entry.digest));
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  const FileFacts facts = facts_of(status);
  const bool cut = !S_ISREG(status.st_mode) || facts.size != entry.size;
  const bool unsure = facts.ctime_ns < trusted_since_ns_;
  if (!cut && !unsure && clock_ns(CLOCK_REALTIME) - facts.mtime_ns < note_ns) return true;
  bool whole = !cut;
  if (whole && unsure) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const Result<Digest> digest = file ? content_digest(file.get()) : Result<Digest>(Digest{});
    whole = digest && *digest == entry.digest;
  }
  if (whole) {
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  } else {
    ::unlink(path.c_str());
  }
  return whole;
}

Result<ContentWriter> ObjectStore::create(const TreeEntry& entry) const {
  const std::string name = TRY(random_name(8));
  return ContentWriter::create(entry, {.folder = path_,
                                       .draft = format("{}{}", draft_prefix, name),
                                       .whole = object_name(entry.digest)});
}

Result<Fd> ObjectStore::open_object(const TreeEntry& entry) const {
  const std::string path = format("{}/{}", path_, object_name(entry.digest));
  Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (file) return file;
  return fail(errno == ENOENT ? Errc::not_found : Errc::os,
              format("cannot open {}, the content of {}: {}", printable_path(path),
                     printable(entry.path), errno_text(errno)));
}

void ObjectStore::finish(WallClock::time_point now, uint64_t limit) {
  // Success means that no job on any host uses objects now.
  const bool alone = lock_ && ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
  std::vector<StoredObject> objects = objects_by_use(path_);
  uint64_t bytes = 0;
  for (const StoredObject& object : objects)
    bytes += object.facts.size;
  for (const StoredObject& object : objects) {
    const auto unused = now - time_of(object.facts);
    const bool abandoned = is_draft(object) && unused > draft_age;
    const bool surplus = !is_draft(object) && bytes > limit && (alone || unused >= use_age);
    if ((abandoned || surplus) && ::unlink(object.path.c_str()) == 0) bytes -= object.facts.size;
  }
  lock_.reset();
}

StoredObjects list_objects(const std::string& store) {
  StoredObjects found = {.path = store + "/objects"};
  std::vector<StoredObject> objects = objects_by_use(found.path);
  std::erase_if(objects, is_draft);
  found.count = objects.size();
  for (const StoredObject& object : objects)
    found.bytes += object.facts.size;
  const Fd lock = open_objects_lock(found.path, 0);
  found.in_use = is_held(lock);
  return found;
}

Result<StoredObjects> clear_objects(const std::string& store) {
  StoredObjects cleared = {.path = store + "/objects"};
  const Fd lock = open_objects_lock(cleared.path, 0);
  cleared.in_use = is_held(lock);
  if (cleared.in_use) return cleared;
  for (const StoredObject& object : objects_by_use(cleared.path)) {
    if (::unlink(object.path.c_str()) != 0 && errno != ENOENT)
      return fail_errno(format("cannot remove {}", printable_path(object.path)));
    if (is_draft(object)) continue;
    ++cleared.count;
    cleared.bytes += object.facts.size;
  }
  ::unlink(format("{}/{}", cleared.path, lock_name).c_str());
  ::rmdir(cleared.path.c_str());
  return cleared;
}

Leftovers unfinished_objects(const std::string& store, LeftoverWork work) {
  const std::string folder = store + "/objects";
  const Fd lock = open_objects_lock(folder, 0);
  Leftovers left;
  if (is_held(lock)) return left;
  for (const StoredObject& object : objects_by_use(folder)) {
    if (!is_draft(object)) continue;
    if (work == LeftoverWork::count || ::unlink(object.path.c_str()) == 0)
      left.add(object.facts.size);
  }
  return left;
}

}  // namespace dt
