#include "launcher/config/jobs/pieces.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/jobs/job_keys.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

namespace dt {
namespace {

using Kind = TomlValue::Kind;
using Entries = std::vector<TomlEntry>;
using Kinds = std::span<const char* const>;

constexpr std::array piece_kinds = {"code", "mounts", "env", "roles", "resources"};
constexpr std::array kinds_of_job = {"code", "mounts", "env", "roles"};
constexpr std::array kinds_of_role = {"roles", "env", "resources"};
/// Pieces that use each other twice over would grow without bound.
constexpr int pieces_taken_max = 1000;

bool is_one_of(Kinds kinds, std::string_view kind) {
  return std::ranges::any_of(kinds, [kind](const char* known) { return kind == known; });
}

std::string list_of(Kinds kinds) {
  return join(std::vector<std::string>(kinds.begin(), kinds.end()), ", ");
}

TomlEntry* find_key(Entries& entries, std::string_view key, bool exact = false) {
  const auto found = std::ranges::find_if(entries, [&](const TomlEntry& entry) {
    return exact ? entry.key == key : spelled_key(entry.key) == spelled_key(key);
  });
  return found == entries.end() ? nullptr : &*found;
}

/// Adds the keys that are missing, also in tables that both have. Variables differ in - and _.
void add_missing(Entries& entries, Entries defaults, bool variables) {
  for (TomlEntry& added : defaults) {
    TomlEntry* const own = find_key(entries, added.key, variables);
    if (own == nullptr) {
      entries.push_back(std::move(added));
    } else if (own->value.is_table() && added.value.is_table()) {
      add_missing(own->value.entries, std::move(added.value.entries), own->key == "env");
    }
  }
}

/// A name such as "code.vision" and its halves.
struct PieceName {
  std::string kind;
  std::string name;
  std::string text() const { return format("{}.{}", kind, name); }
  bool operator==(const PieceName&) const = default;
};

/// True for the key `use` of a table. In a table of variables it may be one.
bool names_pieces(const TomlEntry& entry) {
  return entry.key == "use" && entry.value.kind != Kind::integer;
}

/// Returns the names in `use = ["code.vision", …]`, as they are written.
Result<std::vector<std::string>> names_of(const TomlDocument& document, const TomlEntry& use) {
  std::vector<std::string> names;
  bool valid = use.value.kind == Kind::array;
  for (const TomlValue& element : use.value.elements) {
    valid = valid && element.kind == Kind::text;
    names.push_back(element.text);
  }
  if (valid && !names.empty()) return names;
  return document.refuse(use, "use: expected an array of pieces, such as [\"code.vision\"]");
}

/// Fails for a table of pieces that is none.
Result<> check_kinds(const TomlDocument& document, const Entries& kinds) {
  for (const TomlEntry& kind : kinds) {
    if (!is_one_of(piece_kinds, kind.key))
      return refuse_unknown_key(document, kind, piece_kinds, "a file of pieces");
    const auto& pieces = kind.value.entries;
    const bool named = kind.value.is_table() && std::ranges::all_of(pieces, [](const auto& piece) {
                         return piece.value.is_table();
                       });
    if (!named)
      return document.refuse(kind,
                             format("{0}: expected named tables, such as [{0}.NAME]", kind.key));
  }
  return {};
}

class PieceUser {
 public:
  PieceUser(TomlDocument& document, Entries pieces)
      : document_(document), pieces_(std::move(pieces)) {}

  /// Puts pieces of roles, env and resources into a role.
  Result<> use_in_role(const TomlEntry& use, Entries& role) {
    Entries defaults = TRY(taken(use, kinds_of_role));
    for (const std::string_view kind : {"roles", "env", "resources"}) {
      TomlEntry* const found = find_key(defaults, kind);
      if (found == nullptr) continue;
      if (kind == "roles") {
        for (TomlEntry& piece : found->value.entries)
          add_missing(role, std::move(piece.value.entries), false);
      } else {
        add_missing(role, {std::move(*found)}, false);
      }
    }
    return {};
  }
  /// Puts pieces into the job.
  Result<> use_in_job(const TomlEntry& use, Entries& job);

 private:
  Result<PieceName> parse(const TomlEntry& use, const std::string& text, Kinds kinds) const;
  Result<const TomlEntry*> find(const TomlEntry& use, const PieceName& name);
  Result<TomlEntry> resolve(const TomlEntry& use, const PieceName& name);
  Result<Entries> taken(const TomlEntry& use, Kinds kinds);

  TomlDocument& document_;
  Entries pieces_;
  std::vector<PieceName> open_;  ///< those that are being resolved: each uses the next one
  int taken_ = 0;
};

Result<PieceName> PieceUser::parse(const TomlEntry& use, const std::string& text,
                                   Kinds kinds) const {
  const size_t dot = std::min(text.find('.'), text.size());
  PieceName name = {.kind = text.substr(0, dot),
                    .name = text.substr(std::min(dot + 1, text.size()))};
  if (is_one_of(kinds, name.kind) && !name.name.empty()) return name;
  return document_.refuse(use, format("use: expected KIND.NAME with a kind of {}, got \"{}\"",
                                      list_of(kinds), printable(text)));
}

Result<const TomlEntry*> PieceUser::find(const TomlEntry& use, const PieceName& name) {
  std::vector<std::string> known;
  for (TomlEntry& kind : pieces_) {
    for (const TomlEntry& piece : kind.value.entries) {
      if (kind.key == name.kind && piece.key == name.name) return &piece;
      known.push_back(printable(format("{}.{}", kind.key, piece.key)));
    }
  }
  const auto guess = nearest(name.text(), known);
  return document_.refuse(use, format("use: there is no piece \"{}\"; {}", printable(name.text()),
                                      guess           ? format("did you mean {}?", *guess)
                                      : known.empty() ? std::string("the file of pieces has none")
                                                      : format("there are {}", join(known, ", "))));
}

/// Returns the piece with all that it uses.
Result<TomlEntry> PieceUser::resolve(const TomlEntry& use, const PieceName& name) {
  const TomlEntry* const found = TRY(find(use, name));
  if (std::ranges::find(open_, name) != open_.end()) {
    return document_.refuse(
        use, format("use: {} uses itself{}", printable(name.text()),
                    open_.back() == name ? "" : ", by " + printable(open_.back().text())));
  }
  if (++taken_ > pieces_taken_max)
    return document_.refuse(use, format("use: more than {} pieces", pieces_taken_max));
  TomlEntry piece = *found;
  const auto at = std::ranges::find_if(piece.value.entries, names_pieces);
  if (at == piece.value.entries.end()) return piece;
  const TomlEntry its_use = std::move(*at);
  piece.value.entries.erase(at);
  open_.push_back(name);
  if (name.kind == "roles") {
    TRY(use_in_role(its_use, piece.value.entries));
  } else {
    const std::array own_kind = {name.kind.c_str()};
    Entries defaults = TRY(taken(its_use, own_kind));
    if (name.kind == "mounts") defaults = std::move(defaults.front().value.entries);
    for (TomlEntry& used : defaults)
      add_missing(piece.value.entries, std::move(used.value.entries), name.kind == "env");
  }
  open_.pop_back();
  return piece;
}

/// Returns the named pieces by kind: one table of each, joined, but each of roles and each of
/// mounts by its name.
Result<Entries> PieceUser::taken(const TomlEntry& use, Kinds kinds) {
  std::vector<std::string> names = TRY(names_of(document_, use));
  Entries all;
  // The keys of later pieces win, so they come first.
  std::ranges::reverse(names);
  for (const std::string& text : names) {
    const PieceName name = TRY(parse(use, text, kinds));
    TomlEntry piece = TRY(resolve(use, name));
    TomlEntry table = {.key = name.kind,
                       .line = piece.line,
                       .column = piece.column,
                       .value = {.kind = Kind::table},
                       .source = piece.source};
    const bool by_name = name.kind == "roles" || name.kind == "mounts";
    if (by_name) {
      table.value.entries.push_back(std::move(piece));
    } else {
      table.value.entries = std::move(piece.value.entries);
    }
    add_missing(all, {std::move(table)}, false);
  }
  return all;
}

Result<> PieceUser::use_in_job(const TomlEntry& use, Entries& job) {
  Entries defaults = TRY(taken(use, kinds_of_job));
  for (TomlEntry& table : defaults) {
    TomlEntry* const own = find_key(job, table.key);
    const bool mounts = table.key == "mounts";
    const bool fits =
        own == nullptr || (mounts ? own->value.kind == Kind::tables : own->value.is_table());
    if (!fits) {
      return document_.refuse(*own,
                              format("{}: expected {}, to which pieces are added, got {}", own->key,
                                     mounts ? "[[mounts]]" : "a table", own->value.kind_name()));
    }
    if (!mounts) {
      add_missing(job, {std::move(table)}, false);
      continue;
    }
    TomlValue elements = {.kind = Kind::tables};
    // In the order of their names in `use`.
    for (auto piece = table.value.entries.rbegin(); piece != table.value.entries.rend(); ++piece)
      elements.elements.push_back(std::move(piece->value));
    for (TomlValue& element : elements.elements)
      element.kind = Kind::table;
    if (own != nullptr) {
      std::ranges::move(elements.elements, std::back_inserter(own->value.elements));
    } else {
      table.value = std::move(elements);
      job.push_back(std::move(table));
    }
  }
  return {};
}

/// Takes the key `use` out of a table.
std::optional<TomlEntry> take_use(Entries& entries) {
  const auto at = std::ranges::find(entries, "use", &TomlEntry::key);
  if (at == entries.end()) return std::nullopt;
  std::optional<TomlEntry> use = std::move(*at);
  entries.erase(at);
  return use;
}

}  // namespace

Result<std::vector<Piece>> list_pieces(const PiecesText& file) {
  const TomlDocument document = TRY(TomlDocument::parse(file.text, file.path));
  TRY(check_kinds(document, document.entries()));
  std::vector<Piece> all;
  for (const TomlEntry& kind : document.entries()) {
    for (const TomlEntry& table : kind.value.entries) {
      Piece piece = {.name = format("{}.{}", kind.key, table.key), .line = table.line};
      const auto use = std::ranges::find_if(table.value.entries, names_pieces);
      if (use != table.value.entries.end()) piece.uses = TRY(names_of(document, *use));
      all.push_back(std::move(piece));
    }
  }
  std::ranges::stable_sort(all, {}, &Piece::line);
  return all;
}

Result<> use_pieces(TomlDocument& job, const PiecesReader& read_pieces) {
  Entries entries = job.entries();
  std::optional<TomlEntry> of_job = take_use(entries);
  TomlEntry* const roles = find_key(entries, "roles");
  std::vector<std::pair<TomlEntry, TomlEntry*>> of_roles;
  if (roles != nullptr) {
    for (TomlEntry& role : roles->value.entries) {
      if (auto use = take_use(role.value.entries)) of_roles.emplace_back(*std::move(use), &role);
    }
  }
  if (!of_job && of_roles.empty()) return {};
  const TomlEntry& first = of_job ? *of_job : of_roles.front().first;
  const Result<PiecesText> file = read_pieces();
  if (!file) return job.refuse(first, "use: " + file.error().message);
  TomlDocument document = TRY(TomlDocument::parse(file->text, file->path));
  TRY(check_kinds(document, document.entries()));
  PieceUser user(job, job.adopt(std::move(document)));
  for (auto& [use, role] : of_roles)
    TRY(user.use_in_role(use, role->value.entries));
  if (of_job) TRY(user.use_in_job(*of_job, entries));
  job.set_entries(std::move(entries));
  return {};
}

}  // namespace dt
