#include "comm/api/fork_detector.h"

#include <sys/mman.h>
#include <unistd.h>

namespace dt {

namespace {

/// The kernel maps at least one page.
constexpr size_t mapped_bytes = 1;

/// Returns null when the kernel refuses such a page; Linux has them since 4.14.
volatile unsigned char* page_cleared_by_fork() {
  void* page =
      mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, mapped_bytes, MADV_WIPEONFORK) == 0) return static_cast<unsigned char*>(page);
  munmap(page, mapped_bytes);
  return nullptr;
}

}  // namespace

ForkDetector::ForkDetector(Method method) : process_(getpid()) {
  if (method == Method::page) page_ = page_cleared_by_fork();
  if (page_ != nullptr) *page_ = 1;
}

ForkDetector::~ForkDetector() {
  if (page_ != nullptr) munmap(const_cast<unsigned char*>(page_), mapped_bytes);
}

bool ForkDetector::forked() const {
  return page_ != nullptr ? *page_ == 0 : getpid() != process_;
}

}  // namespace dt
