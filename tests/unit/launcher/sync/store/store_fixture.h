#pragma once

#include "base/bytes.h"
#include "base/crypto.h"
#include "launcher/sync/manifest.h"
#include "launcher/sync/store/object_store.h"
#include "launcher/sync/store/store_folder.h"
#include "launcher/sync/store/tree_site.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// The entry of a file with this content.
inline TreeEntry sync_file(std::string path, std::string_view content, bool executable = false) {
  TreeEntry entry;
  entry.path = std::move(path);
  entry.executable = executable;
  entry.size = content.size();
  entry.digest = sha256(as_bytes(content));
  return entry;
}

inline TreeEntry sync_link(std::string path, std::string target) {
  TreeEntry entry;
  entry.path = std::move(path);
  entry.kind = TreeEntry::Kind::link;
  entry.target = std::move(target);
  return entry;
}

inline TreeEntry sync_folder(std::string path) {
  TreeEntry entry;
  entry.path = std::move(path);
  entry.kind = TreeEntry::Kind::folder;
  return entry;
}

inline void put_object(const ObjectStore& objects, std::string_view content) {
  const TreeEntry entry = sync_file("x", content);
  ContentWriter writer = objects.create(entry).value();
  REQUIRE(writer.write(as_bytes(content)));
  REQUIRE(writer.commit());
}

/// A host's home and store, and trees with the contents of their files.
class StoreFixture {
 public:
  StoreFixture()
      : store(StoreFolder::find({folder.path() + "/store"}).value()),
        objects(ObjectStore::open(store).value()) {}

  /// Returns an order for a target below the home.
  SiteOrder order(std::string target, std::string job = "job1") const {
    return {.job = std::move(job), .target = std::move(target), .home = folder.path() + "/home"};
  }
  /// Adds a file to `manifest`, and its object to the store.
  void add(Manifest& manifest, std::string path, std::string_view content,
           bool executable = false) {
    add(manifest, sync_file(std::move(path), content, executable));
    if (!content.empty()) put_object(objects, content);
  }
  static void add(Manifest& manifest, TreeEntry entry) {
    manifest.entries.push_back(std::move(entry));
    std::ranges::sort(manifest.entries, {}, &TreeEntry::path);
  }
  /// Returns the manifest of these files, whose objects are in the store.
  Manifest files(const std::vector<std::pair<std::string, std::string>>& contents) {
    Manifest manifest;
    for (const auto& [path, content] : contents)
      add(manifest, path, content);
    return manifest;
  }
  std::string home(std::string_view below) const {
    return folder.path() + "/home/" + std::string(below);
  }
  std::string read(std::string_view below) const {
    return folder.read("home/" + std::string(below));
  }
  void write(std::string_view below, std::string_view text) const {
    folder.write("home/" + std::string(below), text);
  }
  static bool exists(const std::string& path) {
    return std::filesystem::symlink_status(path).type() != std::filesystem::file_type::not_found;
  }

  const TemporaryFolder folder;
  StoreFolder store;
  ObjectStore objects;
};

}  // namespace dt
