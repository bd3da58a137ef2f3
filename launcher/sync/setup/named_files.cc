#include "launcher/sync/setup/named_files.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/fd.h"
#include "base/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

namespace dt {
namespace {

/// Reads the words of a shell's line.
class LineWords {
 public:
  explicit LineWords(std::string_view line) {
    for (const char c : line)
      take(c);
    end_word();
  }
  std::vector<std::string> words;

 private:
  void take(char c) {
    constexpr std::string_view blanks = " \t\r\n";
    constexpr std::string_view operators = ";|&()<>`\n";
    if (escaped_) {
      word_ += c;
      escaped_ = false;
    } else if (quote_ != '\0') {
      if (c != quote_) word_ += c;
      if (c == quote_) quote_ = '\0';
    } else if (c == '\'' || c == '"') {
      quote_ = c;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (blanks.find(c) == blanks.npos && operators.find(c) == operators.npos) {
      word_ += c;
    } else {
      end_word();
      if (operators.find(c) != operators.npos) first_ = true;
    }
  }
  void end_word() {
    const bool runs_file = first_ && word_ == ".";
    if (word_.empty()) return;
    if (!runs_file) words.push_back(word_);
    word_.clear();
    first_ = false;
  }

  std::string word_;
  char quote_ = '\0';
  bool escaped_ = false;
  bool first_ = true;  ///< the next word begins a command
};

/// Returns the root of the tree on this machine.
std::string_view root_of(const SetupOrder& order) {
  std::string_view root = order.folder;
  if (!order.below.empty() && root.ends_with("/" + order.below))
    root.remove_suffix(order.below.size() + 1);
  return root;
}

/// Returns the path below the tree's root, without "." and ".."; none if it is outside.
std::optional<std::string> path_in_tree(std::string_view word, const SetupOrder& order) {
  std::string whole = format("{}/{}", order.below, word);
  for (const std::string_view root : {std::string_view("${DTRAIN_CODE_DIR}"),
                                      std::string_view("$DTRAIN_CODE_DIR"), root_of(order)}) {
    if (word != root && !word.starts_with(format("{}/", root))) continue;
    whole = word.substr(root.size());
    word = {};
    break;
  }
  if (word.starts_with('/')) return std::nullopt;
  std::vector<std::string> parts;
  for (const std::string_view part : split(whole, '/')) {
    if (part == ".." && parts.empty()) return std::nullopt;
    if (part == "..") {
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.emplace_back(part);
    }
  }
  return join(parts, "/");
}

/// Returns the file of this path, or all files below the folder of this path.
std::set<std::string> files_at(const TreeFiles& files, const std::string& path) {
  std::set<std::string> named;
  if (files.contains(path)) named.insert(path);
  const std::string beginning = path.empty() ? "" : path + "/";
  for (auto at = files.lower_bound(beginning);
       at != files.end() && at->first.starts_with(beginning); ++at)
    named.insert(at->first);
  return named;
}

std::optional<Digest> digest_of_file(int fd) {
  Sha256 sum;
  std::array<std::byte, size_t{64} << 10> buffer;
  while (true) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n == 0) return sum.finish();
    if (n < 0 && errno != EINTR) return std::nullopt;
    if (n > 0) sum.add(ByteSpan(buffer).first(static_cast<size_t>(n)));
  }
}

/// Adds the file of this path to the list, if there is one. Returns false for a file that it cannot
/// read, and for a folder.
bool add_file_there(std::string_view root, const std::string& path, TreeFiles& files) {
  const std::string whole = format("{}/{}", root, path);
  struct stat there = {};
  if (::stat(whole.c_str(), &there) != 0) return true;
  if (!S_ISREG(there.st_mode)) return !S_ISDIR(there.st_mode);
  const Fd file(::open(whole.c_str(), O_RDONLY | O_CLOEXEC));
  const std::optional<Digest> digest = file ? digest_of_file(file.get()) : std::nullopt;
  if (digest) files[path] = *digest;
  return digest.has_value();
}

}  // namespace

std::vector<std::string> path_words(const std::string& command) {
  std::vector<std::string> words;
  for (const std::string& word : LineWords(command).words) {
    words.push_back(word);
    const size_t equals = word.find('=');
    if (equals != std::string::npos && equals + 1 < word.size())
      words.push_back(word.substr(equals + 1));
    const bool short_option = word.size() > 2 && word[0] == '-' && word[1] != '-';
    if (short_option) words.push_back(word.substr(2));
  }
  return words;
}

std::optional<Digest> named_contents(const std::string& command, const SetupOrder& order) {
  TreeFiles named;
  for (const std::string& word : path_words(command)) {
    const auto path = path_in_tree(word, order);
    if (!path) continue;
    if (order.files.empty()) {
      if (!add_file_there(root_of(order), *path, named)) return std::nullopt;
      continue;
    }
    for (const std::string& file : files_at(order.files, *path))
      named[file] = order.files.find(file)->second;
  }
  Writer all;
  for (const auto& [path, digest] : named)
    all.text(path).raw(digest);
  return sha256(all.view());
}

}  // namespace dt
