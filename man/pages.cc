// Makes a manual page from its source during the build: pages SOURCE PAGE.

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/io/file.h"
#include "man/mdoc.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace dt {
namespace {

Result<> make_page(const std::string& source, const std::string& page) {
  constexpr size_t source_bytes_max = size_t{1} << 20;
  const std::string source_text = TRY(read_text_file(source, source_bytes_max));
  const std::string text = mdoc_page(source_text);
  const Fd file(::open(page.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) return fail_errno(page);
  return write_all(file.get(), as_bytes(text));
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto made = dt::make_page(argv[1], argv[2]);
  if (made) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[1], made.error().message.c_str());
  return 1;
}
