#include "launcher/sync/fetch/fetch_sender.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Takes the messages of a fetch, as the launcher does.
struct FetchReceiver {
  Result<> take(SyncMessage type, ByteSpan payload) {
    if (type == SyncMessage::file) {
      file = decode_fetched_file(payload).value();
      content.clear();
      if (on_file) on_file(file.path);
    } else if (type == SyncMessage::file_bytes) {
      content += as_text(payload);
    } else if (type == SyncMessage::file_end) {
      files[file.path] = file.target.empty() ? content : "-> " + file.target;
    } else {
      REQUIRE(type == SyncMessage::fetched);
      fetched.push_back(decode<Fetched>(payload).value());
    }
    return {};
  }
  FetchSink sink() {
    return [this](SyncMessage type, ByteSpan payload) { return take(type, payload); };
  }

  std::function<void(const std::string& path)> on_file;
  FetchedFile file;
  std::string content;
  std::map<std::string, std::string> files;
  std::vector<Fetched> fetched;
};

TEST_CASE("send_fetched: files and links, then what is missing") {
  const TemporaryFolder folder;
  folder.write("out/a", std::string(100'000, 'a'));
  folder.write("out/empty", "");
  std::filesystem::create_symlink("a", folder.path() + "/out/link");
  FetchReceiver receiver;
  const FetchSource source = FetchSource::open(folder.path()).value();
  REQUIRE(send_fetched(source, {"out", "none"}, receiver.sink()));
  CHECK(receiver.files == std::map<std::string, std::string>{{"out/a", std::string(100'000, 'a')},
                                                             {"out/empty", ""},
                                                             {"out/link", "-> a"}});
  CHECK(receiver.fetched == std::vector<Fetched>{{.unmatched = {"none"}}});
}

TEST_CASE("send_fetched: a file that vanishes or is replaced meanwhile is skipped and named") {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c", "d", "e"})
    folder.write(name, name);
  FetchReceiver receiver;
  receiver.on_file = [&](const std::string& path) {
    if (path != "a") return;
    std::filesystem::remove(folder.path() + "/b");
    std::filesystem::remove(folder.path() + "/d");
    REQUIRE(::mkfifo((folder.path() + "/d").c_str(), 0600) == 0);
  };
  const FetchSource source = FetchSource::open(folder.path()).value();
  REQUIRE(send_fetched(source, {"*"}, receiver.sink()));
  CHECK(receiver.files == std::map<std::string, std::string>{{"a", "a"}, {"c", "c"}, {"e", "e"}});
  REQUIRE(receiver.fetched.size() == 1);
  CHECK(receiver.fetched[0].unreadable ==
        SomeEntries{2, {"b (No such file or directory)", "d (it is no file any more)"}});
}

TEST_CASE("send_fetched: files without the right to read are skipped and named") {
  const TemporaryFolder folder;
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  folder.write("a", "a", 0);
  folder.write("b", "b", 0644);
  folder.write("c", "c", 0);
  FetchReceiver receiver;
  const FetchSource source = FetchSource::open(folder.path()).value();
  const bool root = geteuid() == 0;
  if (root) REQUIRE(seteuid(65534) == 0);
  const Result<> sent = send_fetched(source, {"*"}, receiver.sink());
  if (root) REQUIRE(seteuid(0) == 0);
  REQUIRE(sent);
  CHECK(receiver.files == std::map<std::string, std::string>{{"b", "b"}});
  REQUIRE(receiver.fetched.size() == 1);
  CHECK(receiver.fetched[0].unreadable ==
        SomeEntries{2, {"a (Permission denied)", "c (Permission denied)"}});
}

TEST_CASE("send_fetched: a closed connection ends it") {
  const TemporaryFolder folder;
  folder.write("a", "a");
  const FetchSource source = FetchSource::open(folder.path()).value();
  int calls = 0;
  const Result<> sent = send_fetched(source, {"*"}, [&](SyncMessage, ByteSpan) -> Result<> {
    ++calls;
    return fail(Errc::closed, "closed");
  });
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == Errc::closed);
  CHECK(calls == 1);
}

}  // namespace
}  // namespace dt
