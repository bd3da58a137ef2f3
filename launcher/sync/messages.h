#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The messages between the launcher's sync process and that of a host. Each is one frame. The
/// agent and the launcher relay their bytes, and do not read them.
///
///   Launcher:  place     look   manifest…      object…    build     set_up              close
///   Host:         placed    seen       lacking    progress…   built       output…  is_set_up
///   closed
///
/// A host whose folder is another host's, too, gets adopt behind the manifest. A job without
/// --setup has no set_up. Any answer may be `failed` instead: nothing further is sent to such a
/// host.
enum class SyncMessage : uint8_t {
  // to a host
  place = 1,
  look = 2,
  manifest_part = 3,  ///< bytes of an encoded Manifest; `manifest` follows the last
  manifest = 4,
  object = 5,        ///< ObjectStart; object_bytes follow, then object_end
  object_bytes = 6,  ///< of the file
  object_end = 7,
  build = 8,
  adopt = 9,
  close = 10,
  set_up = 11,
  fetch = 12,  ///< patterns of files that the launcher gets
  // from a host
  placed = 64,  ///< its marker is there
  seen = 65,
  lacking = 66,
  progress = 67,  ///< it works; sent between the files of a tree
  built = 68,
  closed = 69,
  note = 70,  ///< text for the user
  failed = 71,
  output = 72,  ///< that setup commands have printed
  is_set_up = 73,
  file = 74,  ///< FetchedFile: its bytes follow, then file_end
  file_bytes = 75,
  file_end = 76,
  fetched = 77,  ///< Fetched: all files were sent. A file without its file_end was not read whole
};

/// To a host: find the places of the tree, lock them, and put a file with the marker's name there.
struct PlaceOrder {
  std::string job;
  std::optional<std::string> target;  ///< of --sync-to; none: a new tree for the job
  bool into = false;                  ///< the target may have files of others
  /// The tree itself, on the launcher's machine, which tasks use there; empty: a copy is made.
  std::string original;
  /// The root of the tree on the launcher's machine, where a target must not lie. A host finds by a
  /// file below it that it has the same root.
  std::string source;
  std::string source_marker;
  std::string marker;  ///< a file name that no other host has
  bool operator==(const PlaceOrder&) const = default;
};

/// From a host, after `look`: the markers of all hosts, this one included, that share a folder with
/// it. With that of its tree, one of them gets the tree for all; with its store, one runs setup.
struct Seen {
  std::vector<std::string> tree;
  std::vector<std::string> store;
  bool operator==(const Seen&) const = default;
};

/// From a host: numbers of the manifest's entries whose contents it needs, one of each content. A
/// long list comes in several messages.
struct Lacking {
  static constexpr size_t entries_max = 100'000;  ///< of one message
  std::vector<uint32_t> entries;
  bool more = false;  ///< another message follows
  bool operator==(const Lacking&) const = default;
};

/// To a host: the content of this entry follows.
struct ObjectStart {
  uint32_t entry = 0;
  bool operator==(const ObjectStart&) const = default;
};

/// From a host: the tree is complete.
struct Built {
  std::string folder;
  bool operator==(const Built&) const = default;
};

/// To a host: run the commands of --setup in its tree.
struct SetUpOrder {
  std::vector<std::string> commands;
  Environment forwarded;              ///< as for tasks
  std::vector<std::string> excluded;  ///< patterns of the host's own variables that are left out
  std::string below;                  ///< where they run, below the root of the tree
  std::string source;                 ///< of the tree: it names the folder of the setup
  Duration timeout = {};
  bool once = false;
  bool runs = true;  ///< false: another host with the same folder has run them
  bool operator==(const SetUpOrder&) const = default;
};

/// From a host: its setup is ready.
struct IsSetUp {
  std::string folder;    ///< DTRAIN_SETUP_DIR
  bool has_bin = false;  ///< it has a folder bin, for PATH
  bool operator==(const IsSetUp&) const = default;
};

/// To a host: send the files that match.
struct FetchPatterns {
  std::vector<std::string> patterns;
  bool operator==(const FetchPatterns&) const = default;
};

/// Some entries of a tree, for a warning: how many, and the first of them.
struct SomeEntries {
  static constexpr size_t shown_max = 3;
  uint64_t count = 0;
  std::vector<std::string> shown;  ///< each with the reason in parentheses
  void add(std::string_view path, std::string_view why);
  bool operator==(const SomeEntries&) const = default;
};

/// From a host, behind the files.
struct Fetched {
  std::vector<std::string> unmatched;  ///< patterns that match none
  SomeEntries unreadable;              ///< files and folders that cannot be read
  SomeEntries left_out;                ///< links that leave the tree, sockets, FIFOs and devices
  bool operator==(const Fetched&) const = default;
};

/// From a host: why it cannot have the tree.
struct SyncFailure {
  std::string why;
  bool operator==(const SyncFailure&) const = default;
};

Bytes encode(const PlaceOrder& message);
Bytes encode(const Seen& message);
Bytes encode(const Lacking& message);
Bytes encode(const ObjectStart& message);
Bytes encode(const Built& message);
Bytes encode(const SyncFailure& message);
Bytes encode(const SetUpOrder& message);
Bytes encode(const IsSetUp& message);
Bytes encode(const FetchPatterns& message);
Bytes encode(const Fetched& message);

/// Reads a payload back. Fails with Errc::protocol for bytes that are no such message.
template <class Message>
Result<Message> decode(ByteSpan payload);
template <>
Result<PlaceOrder> decode(ByteSpan payload);
template <>
Result<Seen> decode(ByteSpan payload);
template <>
Result<Lacking> decode(ByteSpan payload);
template <>
Result<ObjectStart> decode(ByteSpan payload);
template <>
Result<Built> decode(ByteSpan payload);
template <>
Result<SyncFailure> decode(ByteSpan payload);
template <>
Result<SetUpOrder> decode(ByteSpan payload);
template <>
Result<IsSetUp> decode(ByteSpan payload);
template <>
Result<FetchPatterns> decode(ByteSpan payload);
template <>
Result<Fetched> decode(ByteSpan payload);

/// Appends a message as a frame.
void append_sync_message(Bytes& out, SyncMessage type, ByteSpan payload = {});

}  // namespace dt
