#pragma once

#include "launcher/config/tables/option.h"

#include <array>

namespace dt {

/// The options of a tree of files that goes to the hosts, and of their setup. A dtrain.toml that
/// was only found may have none of them: it would choose files of this machine that others then
/// have, or programs.
namespace sync_table {
using enum OptionKind;
using enum OptionGroup;

inline constexpr std::array rows = {
    Option{"sync", "--sync", flag, "", code,
           "Copy the files of the git tree that holds the current folder to every other host, and "
           "start the workers there, in the place of the current folder. Files that git ignores "
           "stay here. Without git: all files of the current folder.",
           true, Effect::decides, "", true},
    Option{"sync-from", "--sync-from", text, "DIR|URL[@REF]", code,
           "Copy the tree of this folder, instead of that of the current one, or a commit of a git "
           "repository: an https, ssh or file URL, or user@host:path. REF is a branch, a tag or a "
           "hash; without it, the default branch. git fetches it once, on this machine, and asks "
           "nobody. The workers on this machine get a copy, too. Implies --sync.",
           true, Effect::decides, "", true},
    Option{"sync-user", "--sync-user", text, "NAME", code,
           "The user's name at the server of the URL of --sync-from, by https. Without it, the one "
           "in the URL, or that of git's settings.",
           true, Effect::decides, "", true},
    Option{"sync-token-env", "--sync-token-env", text, "VARIABLE", code,
           "The variable of dtrain's environment that has the password or token for the server of "
           "the URL. git asks dtrain for it; no other server gets it, and neither the hosts nor "
           "the workers have the variable. Without it and --sync-token-file, git's own settings "
           "count.",
           true, Effect::decides, "", true},
    Option{"sync-token-file", "--sync-token-file", text, "FILE", code,
           "The file that has this password or token, and nothing else. Only its user may read it.",
           true, Effect::decides, "", true},
    Option{"sync-to", "--sync-to", text, "TARGET", code,
           "Where the copy lies on each host: an absolute path, or one below the home. It stays "
           "there, so that a later job sends only files that changed; files that jobs wrote there "
           "stay, too. Without it, each job has a new copy below ~/.cache/dtrain. Implies "
           "--sync.",
           true, Effect::decides, "", true},
    Option{
        "sync-into", "--sync-into", flag, "", code,
        "Accept a TARGET of --sync-to that has files, and no copy of dtrain's: files of the same "
        "path are replaced.",
        true, Effect::decides, "", true},
    Option{"sync-local-copy", "--sync-local-copy", flag, "", code,
           "Give this machine a copy, too. Without it, its workers start in the original, unless "
           "--sync-to is given.",
           true, Effect::decides, "", true},
    Option{"sync-strict", "--sync-strict", flag, "", code,
           "A symbolic link that leaves the tree is an error. Without it, such links are left out, "
           "with a warning.",
           true, Effect::decides, "", true},
    Option{"sync-max", "--sync-max", text, "SIZE", code,
           "The most bytes that the files may have together (default 2G). More are an error, which "
           "names the largest.",
           true, Effect::decides, "", true},
    Option{
        "sync-exclude", "--sync-exclude", list, "PATTERN", code,
        "Leave out the files whose path below the tree fits PATTERN, such as '*.ckpt' or 'data'. "
        "A * stands for any characters, also for /. A folder that fits is left out with all "
        "below it. May be given again; --sync-include wins over it.",
        true, Effect::decides, "", true},
    Option{
        "sync-include", "--sync-include", list, "PATTERN", code,
        "Take the files whose path fits PATTERN, also if git ignores them. A folder that fits is "
        "taken with all below it. May be given again.",
        true, Effect::decides, "", true},
    Option{
        "fetch", "--fetch", list, "PATTERN", code,
        "When the job ends, also by a failure, bring the files of rank 0's copy whose path fits "
        "PATTERN back to the same place in the tree. A file that has changed here since the start "
        "stays, and the other one gets .dtrain- and the job's id at its end. May be given again.",
        true, Effect::decides, "", true},
    Option{"fetch-to", "--fetch-to", text, "DIR", code,
           "Bring the files of --fetch to this folder instead, with their paths below the tree.",
           true, Effect::decides, "", true},
    Option{
        "setup", "--setup", lines, "COMMAND", code,
        "Run this line of a shell on each host before any process starts, in the folder of the "
        "workers, such as 'pip install -r requirements.txt'. Its output has the host's name; its "
        "failure ends the job. May be given again. DTRAIN_SETUP_DIR is a folder that jobs with "
        "the same commands share; a folder bin in it comes first in PATH of later commands and "
        "of the workers.",
        true, Effect::decides, "", true},
    Option{"setup-timeout", "--setup-timeout", duration, "TIME", code,
           "How long all commands of --setup may take on a host together (default 10m).", true,
           Effect::decides, "", true},
    Option{
        "setup-once", "--setup-once", flag, "", code,
        "Leave out commands of --setup that have succeeded on that host before, unless a file of "
        "the tree that they name has changed. Leave out all while another job of the same setup "
        "runs there.",
        true, Effect::decides, "", true},
};
}  // namespace sync_table
inline constexpr const auto& sync_options = sync_table::rows;

}  // namespace dt
