#include "comm/driver/stack_dump.h"

#include <execinfo.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace dt {

namespace {

constexpr size_t threads_max = 64;
constexpr size_t noted_bytes_max = 64;
constexpr int frames_max = 64;

/// The last operation of one thread. The signal handler of another thread may read it at any time,
/// so every part is atomic. A name can then be half of one operation and half of the next.
struct ThreadEntry {
  std::atomic<uintptr_t> thread = 0;  ///< pthread_self(); 0: the entry is free
  std::atomic<int> id = 0;            ///< as the kernel numbers threads
  std::atomic<const char*> call = "";
  std::atomic<bool> returned = false;
  std::array<std::atomic<char>, noted_bytes_max> name = {};  ///< ends at a zero, or at the limit
};

struct ThreadList {
  std::atomic<bool> wanted = false;
  std::array<ThreadEntry, threads_max> entries = {};
};

/// A list of fixed size and not a thread_local variable, whose first use may allocate memory.
ThreadList& threads() {
  static constinit ThreadList list;
  return list;
}

/// Returns this thread's entry, or takes a free one; null when all are taken. A thread takes over
/// the entry of an ended one that had the same pthread_self().
ThreadEntry* own_entry() {
  const auto self = static_cast<uintptr_t>(pthread_self());
  for (ThreadEntry& entry : threads().entries) {
    uintptr_t found = 0;
    if (!entry.thread.compare_exchange_strong(found, self) && found != self) continue;
    if (found == 0) entry.id = static_cast<int>(::syscall(SYS_gettid));
    return &entry;
  }
  return nullptr;
}

/// A line for stderr, made without memory from the heap. Leaves out bytes that do not fit.
class Line {
 public:
  Line& text(std::string_view text) {
    for (const char character : text)
      put(character);
    return *this;
  }
  Line& number(int number) {
    std::array<char, 12> digits = {};
    size_t count = 0;
    for (unsigned rest = static_cast<unsigned>(number); count == 0 || rest > 0; rest /= 10)
      digits.at(count++) = static_cast<char>('0' + rest % 10);
    while (count > 0)
      put(digits.at(--count));
    return *this;
  }
  /// A control character could change the terminal.
  Line& printable(const std::array<std::atomic<char>, noted_bytes_max>& name) {
    for (const std::atomic<char>& character : name) {
      if (character == '\0') break;
      const bool control = static_cast<unsigned char>(character) < ' ' || character == '\x7f';
      put(control ? '?' : character.load());
    }
    return *this;
  }
  void write() {
    bytes_.at(size_) = '\n';
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, bytes_.data(), size_ + 1);
  }

 private:
  void put(char character) {
    if (size_ + 1 < bytes_.size()) bytes_.at(size_++) = character;
  }
  std::array<char, 256> bytes_ = {};
  size_t size_ = 0;
};

void write_operation(const ThreadEntry& entry) {
  Line line;
  line.text("libdtrain: thread ").number(entry.id);
  line.text(entry.returned ? " has returned from " : " is in ").text(entry.call.load());
  if (entry.name[0] != '\0') line.text(" \"").printable(entry.name).text("\"");
  line.write();
}

/// backtrace() was called before, so that it allocates nothing now. backtrace_symbols_fd() never
/// does. It takes a lock of the dynamic linker. A thread that is stuck there has written the lines
/// before, and SIGTERM ends it.
void write_stack(int) {
  const int saved_errno = errno;
  for (const ThreadEntry& entry : threads().entries) {
    if (entry.thread != 0 && entry.id != 0) write_operation(entry);
  }
  Line()
      .text("libdtrain: stack of thread ")
      .number(static_cast<int>(::syscall(SYS_gettid)))
      .text(" of process ")
      .number(::getpid())
      .text(":")
      .write();
  std::array<void*, frames_max> frames = {};
  const int count = ::backtrace(frames.data(), frames_max);
  ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
  errno = saved_errno;
}

}  // namespace

void install_stack_dump() {
  struct sigaction current = {};
  ::sigaction(SIGQUIT, nullptr, &current);
  // SIG_IGN is mostly inherited: a shell starts its background commands so.
  const bool has_handler = (current.sa_flags & SA_SIGINFO) != 0 ||
                           (current.sa_handler != SIG_DFL && current.sa_handler != SIG_IGN);
  if (has_handler) return;
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads libgcc
  threads().wanted = true;
  struct sigaction ours = {};
  ours.sa_handler = write_stack;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(SIGQUIT, &ours, nullptr);
}

OperationMark::OperationMark(const char* call, std::string_view name) {
  if (!threads().wanted.load(std::memory_order_relaxed)) return;
  ThreadEntry* const entry = own_entry();
  if (entry == nullptr) return;
  entry->call = call;
  const size_t size = std::min(name.size(), noted_bytes_max);
  for (size_t at = 0; at < size; ++at)
    entry->name.at(at) = name[at];
  if (size < noted_bytes_max) entry->name.at(size) = '\0';
  entry->returned = false;
  entry_ = entry;
}

OperationMark::~OperationMark() {
  if (entry_ != nullptr) static_cast<ThreadEntry*>(entry_)->returned = true;
}

}  // namespace dt
