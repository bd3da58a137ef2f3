#include "launcher/mounts/mount_commands.h"

#include "launcher/mounts/mount_table.h"
#include "tests/unit/launcher/mounts/own_namespace.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

namespace dt {
namespace {

/// Runs one command to its answer and its end, as the agent does. Returns the error; empty: none.
/// Requires a namespace of its own, and that the process has no children.
std::string answer_of(const std::string& line, const std::string& folder) {
  auto pair = make_socketpair();
  const pid_t pid = ::fork();
  if (pid == 0) {
    pair->ours.reset();
    constexpr Duration patience = seconds(20);
    serve_mount_commands(std::move(pair->theirs), {{line, folder, "/data"}}, patience);
    _exit(0);
  }
  pair->theirs.reset();
  Bytes received;
  std::optional<Result<>> answer;
  while (!answer) {
    std::array<std::byte, 4096> buffer;
    const ssize_t n = ::read(pair->ours.get(), buffer.data(), buffer.size());
    if (n <= 0) return "no answer";
    received.insert(received.end(), buffer.begin(), buffer.begin() + n);
    answer = decode_mounts_answer(received);
  }
  const bool is_up = is_mounted_at(own_mount_table().value(), folder);
  pair->ours.reset();
  ::waitpid(pid, nullptr, 0);
  if (is_mounted_at(own_mount_table().value(), folder)) return "the mount is left";
  if (std::filesystem::exists(folder)) return "the folder is left";
  if (*answer && !is_up) return "no mount";
  return *answer ? "" : answer->error().message;
}

std::string new_folder(const TemporaryFolder& folder) {
  const std::string path = folder.path() + "/base/0";
  std::filesystem::create_directories(path);
  return path;
}

TEST_CASE("a command makes a mount, and its end ends it") {
  const TemporaryFolder folder;
  const auto ended = in_own_namespace([&] {
    return answer_of("mount -t tmpfs x {target}", new_folder(folder)).empty() &&
           // One that stays, and one that goes to the background first.
           answer_of("mount -t tmpfs x {target}; exec sleep 1000", new_folder(folder)).empty() &&
           answer_of("(sleep 0.1; mount -t tmpfs x {target}; exec sleep 1000) &",
                     new_folder(folder))
               .empty();
  });
  CHECK(ended != NamespaceTest::failed);
}

TEST_CASE("a command that fails is named, with its last lines") {
  const TemporaryFolder folder;
  const auto ended = in_own_namespace([&] {
    return answer_of("echo one; echo two >&2; exit 3 # {target}", new_folder(folder)) ==
               "the command for the mount at /data, 'echo one; echo two >&2; exit 3 # {target}': "
               "exit status 3; its last lines:\n  one\n  two" &&
           answer_of("true {target}", new_folder(folder)) ==
               "the command for the mount at /data, 'true {target}': it has ended without a mount "
               "there; it has printed nothing";
  });
  CHECK(ended != NamespaceTest::failed);
}

TEST_CASE("{target} is a quoted folder") {
  CHECK(shell_line({"mount {target} {target}/x", "/a b", "/data"}) == "mount '/a b' '/a b'/x");
  CHECK(shell_line({"mount", "/a", "/data"}) == "mount");
}

TEST_CASE("the answer is read when it is whole") {
  for (const Result<>& answer : {Result<>(), Result<>(fail(Errc::input, "why"))}) {
    const Bytes bytes = encode_mounts_answer(answer);
    for (size_t length = 0; length < bytes.size(); ++length)
      CHECK_FALSE(decode_mounts_answer(ByteSpan(bytes).first(length)));
    const Result<> read = decode_mounts_answer(bytes).value();
    REQUIRE(read.has_value() == answer.has_value());
    if (!answer) CHECK(read.error() == answer.error());
  }
}

}  // namespace
}  // namespace dt
