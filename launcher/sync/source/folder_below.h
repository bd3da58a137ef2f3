#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <string>
#include <string_view>

namespace dt {

/// Opens the root of a tree, to open what lies below it. Errors contain errno's text.
Result<Fd> open_tree_root(const std::string& path);

/// Opens files and folders below a root for reading. Follows no link, neither one in the place of
/// the file nor one in the place of a folder above it. Returns none and sets errno if there is
/// none. Waits for nothing, as an open of a FIFO would. An empty path is the root.
Fd open_file_below(const Fd& root, std::string_view path);
Fd open_folder_below(const Fd& root, std::string_view path);

/// The same as open_file_below() with a system call for each part of the path. It serves kernels
/// and containers that refuse openat2(2).
Fd open_file_by_parts(const Fd& root, std::string_view path);

}  // namespace dt
