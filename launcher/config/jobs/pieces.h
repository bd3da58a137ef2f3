#pragma once

#include "base/result.h"
#include "launcher/config/files/toml_document.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The text of a file of named tables that several jobs use: [code.vision], [mounts.imagenet].
struct PiecesText {
  std::string path;  ///< absolute: relative paths in it begin at its folder
  std::string text = {};
};
/// Returns the file of pieces. Called only for a job that uses one.
using PiecesReader = std::function<Result<PiecesText>()>;

/// A table of a file of pieces.
struct Piece {
  std::string name;  ///< "code.vision"
  size_t line = 0;
  std::vector<std::string> uses = {};  ///< the pieces that it names itself
  bool operator==(const Piece&) const = default;
};

/// Returns all pieces of a file in its order. Fails with Errc::input for a text that has others
/// than named tables of the kinds code, mounts, env, roles and resources.
Result<std::vector<Piece>> list_pieces(const PiecesText& file);

/// Puts the pieces that the job names by `use` into it, and removes these keys. A key of the job
/// wins over one of a piece, and a later piece over an earlier one; tables within are joined in the
/// same way. A piece of roles or code joins the job's table of its name, one of mounts is one more
/// element of the job's array. A role uses pieces of roles, env and resources.
/// Fails with Errc::input for a piece that there is not, or that uses itself.
Result<> use_pieces(TomlDocument& job, const PiecesReader& read_pieces);

}  // namespace dt
