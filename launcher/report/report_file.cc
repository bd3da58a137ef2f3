#include "launcher/report/report_file.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/format.h"
#include "base/io/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace dt {
namespace {

/// How long write() waits for the reader of a pipe.
constexpr Duration reader_patience = seconds(5);

tl::unexpected<Error> refusal(const std::string& path, std::string_view why) {
  return fail(Errc::input,
              format("--report: cannot write {}: {}", shell_quote(printable(path, 300)), why));
}

/// A new file in the folder of the report, to be renamed to it.
struct Draft {
  std::string path;
  Fd file;
};

Result<Draft> make_draft(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string suffix = TRY(random_name(8));
  Draft draft{.path = format("{}.dtrain-report-{}", folder, suffix), .file = Fd()};
  draft.file = Fd(::open(draft.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!draft.file) return refusal(path, errno_text(errno));
  return draft;
}

/// True for a file or FIFO of another user. That user could read the report, or block its writing
/// when the job is over. Anonymous pipes (/dev/stdout) may have any owner.
bool is_anothers(const std::string& path) {
  struct stat about = {};
  if (::lstat(path.c_str(), &about) < 0 || about.st_uid == ::geteuid()) return false;
  return S_ISREG(about.st_mode) || (S_ISFIFO(about.st_mode) && about.st_uid != 0);
}

Result<Fd> open_stream(const std::string& path) {
  // Non-blocking: a pipe without a reader must not block the launcher.
  Fd stream(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (stream) return stream;
  return refusal(path, errno == ENXIO ? "nobody reads it" : errno_text(errno));
}

Result<> write_stream(int stream, std::string_view text) {
  const Time deadline = Clock::now() + reader_patience;
  while (!text.empty()) {
    const ssize_t n = ::write(stream, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd room = {.fd = stream, .events = POLLOUT, .revents = 0};
      if (poll(&room, 1, poll_ms(Clock::now(), deadline)) == 0) {
        return fail(Errc::timeout, "its reader took too long");
      }
    } else if (errno != EINTR) {
      return fail(Errc::os, errno_text(errno));
    }
  }
  return {};
}

Result<> write_draft(const Draft& draft, std::string_view text, const std::string& path) {
  TRY(write_all(draft.file.get(), as_bytes(text)));
  if (std::rename(draft.path.c_str(), path.c_str()) == 0) return {};
  return fail(Errc::os, errno_text(errno));
}

}  // namespace

void ReportFile::remove_stale(const std::string& path) {
  struct stat about = {};
  if (::lstat(path.c_str(), &about) < 0 || !S_ISREG(about.st_mode)) return;
  if (about.st_uid == ::geteuid() && about.st_nlink == 1) ::unlink(path.c_str());
}

Result<ReportFile> ReportFile::open(const std::optional<std::string>& wanted) {
  ReportFile report;
  report.path_ = wanted;
  if (!wanted) return report;
  const std::string& path = *wanted;
  struct stat about = {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  if (!exists && errno != ENOENT) return refusal(path, errno_text(errno));
  if (path.ends_with('/') || (exists && S_ISDIR(about.st_mode))) {
    return refusal(path, "it is a folder");
  }
  if (is_anothers(path)) {
    return refusal(path, "it belongs to another user; remove it, or give another name");
  }
  if (exists && !S_ISREG(about.st_mode)) {
    report.stream_ = TRY(open_stream(path));
    return report;
  }
  // To follow a link could write to another user's file; to replace it could remove /dev/stdout.
  if (::lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode)) {
    return refusal(path, "it is a symbolic link; give the file itself");
  }
  if (const size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0) {
    const auto made = make_folders(path.substr(0, slash));
    if (!made) return refusal(path, made.error().message);
  }
  const Draft trial = TRY(make_draft(path));
  ::unlink(trial.path.c_str());
  remove_stale(path);
  return report;
}

Result<> ReportFile::write(std::string_view text) {
  if (!path_) return {};
  if (stream_) {
    const auto written = write_stream(stream_.get(), text);
    return written ? written : refusal(*path_, written.error().message);
  }
  const Draft draft = TRY(make_draft(*path_));
  const auto written = write_draft(draft, text, *path_);
  if (written) return {};
  ::unlink(draft.path.c_str());
  return refusal(*path_, written.error().message);
}

}  // namespace dt
