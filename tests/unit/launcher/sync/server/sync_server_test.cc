#include "launcher/sync/server/sync_server.h"

#include "launcher/sync/forked_service.h"
#include "launcher/sync/host/serve_sync.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <map>
#include <string>

namespace dt {
namespace {

TreeEntry file_entry(const TemporaryFolder& folder, const std::string& path) {
  const std::string text = folder.read(path);
  return {.path = path, .size = text.size(), .digest = sha256(as_bytes(text))};
}

/// A tree of three files, and hosts that are forks of this process, each with a home.
struct SyncedHosts {
  TemporaryFolder source;
  TemporaryFolder homes;
  std::unique_ptr<Loop> loop = Loop::create().value();
  SyncedTree tree;
  std::map<uint32_t, HostTree> trees;
  std::map<uint32_t, std::string> failures;
  std::string broken;
  bool finished = false;
  std::list<ForkedService> hosts;
  std::unique_ptr<SyncServer> server;

  SyncedHosts() {
    source.write("a", "first");
    source.write("b/c", std::string(500'000, 'x'));
    source.write("b/same", "first");
    tree.root = source.path();
    tree.place.job = "job1";
    for (const char* const path : {"a", "b/c", "b/same"})
      tree.manifest.entries.push_back(file_entry(source, path));
    tree.encoded = encode(tree.manifest);
  }

  void open() {
    server = std::make_unique<SyncServer>(*loop, tree, SyncServer::Options{},
                                          [this](SyncEvent event, uint32_t host, ByteSpan payload) {
                                            if (event == SyncEvent::ready)
                                              trees[host] = decode_host_tree(payload).value();
                                            if (event == SyncEvent::host_failed)
                                              failures[host] = as_text(payload);
                                            if (event == SyncEvent::failed)
                                              broken = as_text(payload);
                                            if (event == SyncEvent::finished) finished = true;
                                          });
  }

  void add(uint32_t id, const std::string& home, bool original = false) {
    auto pair = make_socketpair().value();
    std::vector<Fd> theirs;
    theirs.push_back(std::move(pair.theirs));
    const std::string folder = homes.path() + "/" + home;
    std::filesystem::create_directories(folder);
    hosts.push_back(
        ForkedService::start("dtrain-sync", std::move(theirs), [&folder](std::vector<Fd> its) {
          ::setenv("HOME", folder.c_str(), 1);
          ::unsetenv("XDG_RUNTIME_DIR");
          serve_sync(std::move(its[0]));
        }).value());
    server->add({.id = id, .name = home, .here = original, .original = original},
                std::move(pair.ours));
  }

  void wait_for(size_t ready, size_t failed = 0) {
    server->start();
    run_until(*loop, [&] {
      return !broken.empty() || (trees.size() == ready && failures.size() == failed);
    });
  }

  void check_tree(uint32_t host) {
    for (const TreeEntry& entry : tree.manifest.entries) {
      CAPTURE(entry.path);
      std::ifstream file(trees[host].folder + "/" + entry.path);
      const std::string text(std::istreambuf_iterator<char>(file), {});
      CHECK(sha256(as_bytes(text)) == entry.digest);
    }
  }
};

TEST_CASE_FIXTURE(SyncedHosts, "SyncServer gives each host the tree, and each content once") {
  open();
  add(1, "one");
  add(2, "two");
  wait_for(2);
  for (const uint32_t host : {1U, 2U}) {
    check_tree(host);
    CHECK(trees[host].files_sent == 2);
    CHECK(trees[host].bytes_sent == 500'005);
  }
  server->finish(nullptr, 0);
  run_until(*loop, [&] { return finished; });
  CHECK_FALSE(std::filesystem::exists(trees[1].folder));
}

TEST_CASE_FIXTURE(SyncedHosts, "hosts with one home get one tree, also one that comes later") {
  open();
  add(1, "shared");
  add(2, "shared");
  wait_for(2);
  CHECK(trees[1].folder == trees[2].folder);
  CHECK(trees[1].files_sent + trees[2].files_sent == 2);
  check_tree(2);
  add(3, "shared");
  add(4, "other");
  wait_for(4);
  CHECK(trees[3].folder == trees[1].folder);
  CHECK(trees[3].files_sent == 0);
  CHECK(trees[4].files_sent == 2);
}

TEST_CASE_FIXTURE(SyncedHosts, "the original is no copy for a host with the same home") {
  tree.setup = SetUpOrder{.commands = {"true"}, .timeout = seconds(60)};
  open();
  add(1, "shared", true);
  add(2, "shared");
  wait_for(2);
  CHECK(trees[1].folder == tree.root);
  CHECK(trees[2].files_sent == 2);
  check_tree(2);
}

TEST_CASE_FIXTURE(SyncedHosts, "a host that fails does not keep the others from the tree") {
  tree.place.target = "place";
  std::filesystem::create_directories(homes.path() + "/bad");
  std::ofstream(homes.path() + "/bad/place") << "a file";
  open();
  add(1, "bad");
  add(2, "good");
  add(3, "gone");
  ::kill(hosts.back().pid(), SIGKILL);
  wait_for(1, 2);
  check_tree(2);
  CHECK(failures[1].find("place") != std::string::npos);
  CHECK_FALSE(failures[3].empty());
  server->finish(nullptr, 0);
  run_until(*loop, [&] { return finished; });
  CHECK(std::filesystem::exists(homes.path() + "/good/place/b/c"));
}

TEST_CASE_FIXTURE(SyncedHosts, "a file that has changed since it was hashed is named") {
  open();
  source.write("a", "other");
  add(1, "one");
  wait_for(1);
  CHECK(broken.find("a") != std::string::npos);
  CHECK(trees.empty());
}

}  // namespace
}  // namespace dt
