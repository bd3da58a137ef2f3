#include "gpu/cpu/cpu_shared_memory.h"

#include "base/format.h"
#include "base/io/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dt {

namespace {

Result<struct stat> status_of(const Fd& file) {
  struct stat status = {};
  if (fstat(file.get(), &status) < 0) return fail_errno("cannot inspect shared memory");
  return status;
}

}  // namespace

Result<std::shared_ptr<CpuSharedMemory>> CpuSharedMemory::create(size_t bytes) {
  Fd file(memfd_create("dtrain device", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_errno("cannot make shared memory");
  if (!may_make(bytes)) {
    return fail(
        Errc::out_of_memory,
        format("cannot make {} bytes of shared memory: files may not be so large; raise the "
               "limit (ulimit -f)",
               bytes));
  }
  // Like other memory of the process, it gets its pages when they are used.
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) < 0)
    return fail_errno(format("cannot make {} bytes of shared memory", bytes));
  TRY(seal_size(file.get()));
  std::shared_ptr<CpuSharedMemory> made(new CpuSharedMemory(std::move(file), bytes));
  TRY(made->map());
  return made;
}

Result<std::shared_ptr<CpuSharedMemory>> CpuSharedMemory::open(const Handle& handle) {
  const std::string path = format("/proc/{}/fd/{}", handle.process, handle.descriptor);
  const auto is_gone = [&] {
    return fail(Errc::not_found, format("process {} has this memory no more", handle.process));
  };
  Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file && errno == ENOENT) return is_gone();
  if (!file) return fail_errno(format("cannot open memory of process {}", handle.process));
  // The number of the process, or of the descriptor, may stand for something else now.
  const struct stat status = TRY(status_of(file));
  const Result<uint64_t> size = sealed_size(file.get());
  if (status.st_ino != handle.file || !size || *size != handle.bytes) return is_gone();
  std::shared_ptr<CpuSharedMemory> opened(new CpuSharedMemory(std::move(file), handle.bytes));
  TRY(opened->map());
  return opened;
}

CpuSharedMemory::~CpuSharedMemory() {
  if (at_ != nullptr) munmap(at_, bytes_);
}

Result<> CpuSharedMemory::map() {
  at_ = TRY(map_shared(file_.get(), bytes_));
  return {};
}

Result<CpuSharedMemory::Handle> CpuSharedMemory::handle() const {
  const struct stat status = TRY(status_of(file_));
  return Handle{
      .process = getpid(), .descriptor = file_.get(), .file = status.st_ino, .bytes = bytes_};
}

Bytes encode(const CpuSharedMemory::Handle& handle) {
  Writer writer;
  writer.number(handle.process).number(handle.descriptor).number(handle.file).number(handle.bytes);
  return writer.take();
}

Result<CpuSharedMemory::Handle> decode_cpu_memory_handle(ByteSpan bytes) {
  Reader reader(bytes);
  CpuSharedMemory::Handle handle;
  handle.process = reader.number<int32_t>();
  handle.descriptor = reader.number<int32_t>();
  handle.file = reader.number<uint64_t>();
  handle.bytes = reader.number<uint64_t>();
  if (handle.process < 1 || handle.descriptor < 0) reader.refuse();
  TRY(reader.finish("handle of memory of a CPU device"));
  return handle;
}

}  // namespace dt
