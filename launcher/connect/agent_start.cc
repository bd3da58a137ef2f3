#include "launcher/connect/agent_start.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/protocol/message.h"

#include <sys/utsname.h>

#include <optional>

namespace dt {

namespace {

/// Output before the agent's that is accepted from a login shell.
constexpr size_t noise_bytes_max = size_t{16} << 20;
constexpr size_t noise_lines_kept = 10;
constexpr size_t line_bytes_shown = 300;
/// How much of an unfinished line is kept to be searched; lines of the script are shorter.
constexpr size_t line_bytes_max = size_t{4} << 10;
constexpr int pushes_max = 4;  // one for each place of the script

constexpr std::string_view run_prefix = "dtrain-run ";
constexpr std::string_view push_prefix = "dtrain-push ";
constexpr std::string_view cannot_prefix = "dtrain-cannot ";

/// The script behind s=DIGEST n=SIZE fresh= once=. It has no single quotes, exclamation marks,
/// backslashes or line breaks, since shells read those differently. It has these functions.
///
/// `own FOLDER` enters the folder, and fails unless the user owns it and no other may write there.
/// Later steps use only `.`, since another user can replace a folder's name, but not `.`.
///
/// `safe` does the same for /tmp/dtrain-UID, whose parent is open to every user. This folder must
/// have mode 700 and be no link.
///
/// `run NAME` prints dtrain-run and becomes the agent, if the executable is in the folder.
///
/// `no PLACE WHY` prints dtrain-cannot.
///
/// `good FILE SIZE` compares the file's digest, or its size where there is no sha256sum.
///
/// `put NAME` prints dtrain-push, stores the executable in the current folder, and runs it. Until
/// the file is whole its name contains the host's name and a pid, since hosts may share the folder.
/// The file gets its final name unless another host was faster: that copy may be running.
///
/// `leave FOLDER` removes the executable and what put has made, and becomes the agent.
///
/// `try FOLDER` makes and enters the folder, and calls put.
///
/// Without any folder, python3 runs the executable from a file in memory: a shell cannot make one.
constexpr std::string_view script =
    R"sh(own() { cd -P "$1" 2>/dev/null && [ -O . ] || return 1; )sh"
    R"sh(case $(ls -ld .) in ${2:-d????-??-*}) return 0;; esac; return 1; }; )sh"
    R"sh(safe() { own "$c" "drwx------*" && [ "${PWD##*/}" = "${c##*/}" ]; }; )sh"
    R"sh(p=./$s/dtrain; )sh"
    R"sh(run() { [ -O $p ] && [ -x $p ] && echo "dtrain-run $1/$s/dtrain" && exec $p agent; }; )sh"
    R"sh(no() { [ -z "$f" ] || rm -f "$f"; f=; echo "dtrain-cannot $1: $2"; }; )sh"
    R"sh(good() { case $(sha256sum <"$1" 2>/dev/null || wc -c <"$1") in )sh"
    R"sh("$s  -"|"$2") return 0;; esac; return 1; }; )sh"
    R"sh(leave() { exec 9<"$f"; rm -f "$f"; rmdir $s 2>/dev/null; umask $u; )sh"
    R"sh(cd /; rmdir "$1" 2>/dev/null; exec /proc/self/fd/9 agent; }; )sh"
    R"sh(put() { e=$(mkdir -p $s 2>&1) || { no "$1" "${e##*: }"; return; }; )sh"
    R"sh(f=./$s/new.$(uname -n).$$; )sh"
    R"sh(e=$( (echo exit 0 >"$f") 2>&1) || { no "$1" "${e##*: }"; return; }; )sh"
    R"sh(chmod 700 "$f"; "$f" 2>/dev/null || { no "$1" "programs cannot run there (noexec)"; return; }; )sh"
    R"sh(echo "dtrain-push $(uname -m)"; )sh"
    R"sh(head -c $n | { cat 2>/dev/null >"$f" || cat >/dev/null; }; )sh"
    R"sh([ "$(wc -c <"$f")" -eq $n ] || { no "$1" "no room for $n bytes"; return; }; )sh"
    R"sh(good "$f" $n || { no "$1" "what was written is not what was sent"; return; }; )sh"
    R"sh([ -z "$once" ] || leave "$1"; )sh"
    R"sh(ln "$f" "$p" 2>/dev/null || good "$p" $fresh$n || mv -f "$f" "$p"; rm -f "$f"; f=; )sh"
    R"sh(umask $u; run "$1"; umask 077; no "$1" "it does not run there"; }; )sh"
    R"sh(try() { f=; e=$(mkdir -p "$1" 2>&1) || { no "$1" "${e##*: }"; return; }; )sh"
    R"sh(own "$1" && { put "$1"; return; }; )sh"
    R"sh(no "$1" "it must be yours, and no other may write there (chmod go-w)"; }; )sh"
    R"sh(f=; a=$HOME/.cache/dtrain; [ -n "$fresh" ] || { own "$a" && run "$a"; }; )sh"
    R"sh(b=$XDG_RUNTIME_DIR/dtrain; c=/tmp/dtrain-$(id -u); )sh"
    R"sh([ -n "$fresh" ] || { own "$b" && run "$b"; safe && run "$c"; }; )sh"
    R"sh(u=$(umask); umask 077; )sh"
    R"sh(try "$a"; [ -z "$XDG_RUNTIME_DIR" ] || try "$b"; )sh"
    R"sh(e=$(mkdir "$c" 2>&1); if safe; then put "$c"; else [ -d "$c" ] && )sh"
    R"sh(e="it is there, but not a folder of yours with mode 700"; no "$c" "${e##*: }"; fi; )sh"
    R"sh(command -v python3 >/dev/null || { no memory "no python3 there to run it from"; exit 126; }; )sh"
    R"sh(umask $u; cd /; exec python3 -c "import os,sys; a=sys.argv; )sh"
    R"sh(sys.excepthook=lambda *e: print(a[4],e[1]); f=os.memfd_create(a[1],1); print(a[5],flush=True); )sh"
    R"sh([os.write(f,b) for b in )sh"
    R"sh(iter(lambda: os.read(0,min(65536,int(a[3])-os.fstat(f).st_size)),bytes())]; )sh"
    R"sh(os.execve(f,a[1:3],os.environ)" dtrain agent $n "dtrain-cannot memory:" "dtrain-push $(uname -m)")sh";

std::string with_values(const AgentBinary& binary, CachedExecutable cached) {
  // Without sha256sum only sizes are compared. "-" makes the size of an untrusted copy wrong.
  return format("s={} n={} fresh={} once={}; {}", binary.sha256(), binary.bytes().size(),
                cached == CachedExecutable::trusted ? "" : "-",
                cached == CachedExecutable::unused ? "-" : "", script);
}

}  // namespace

std::string own_architecture() {
  utsname about = {};
  ::uname(&about);
  return about.machine;
}

std::string agent_command(const AgentBinary& binary, CachedExecutable cached) {
  return format("exec /bin/sh -c '{}'", with_values(binary, cached));
}

std::string agent_script(const AgentBinary& binary, CachedExecutable cached) {
  return with_values(binary, cached) + "; exit 126\n";
}

AgentStart::Taken AgentStart::take(ByteSpan bytes) {
  const std::string_view text = as_text(bytes);
  size_t used = 0;
  for (;;) {
    const size_t end = text.find('\n', used);
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(used, end + 1 - used);
    used = end + 1;
    // A prompt, or a message without a line end, may precede our line.
    const Step step = line.ends_with(agent_magic) ? Step::agent : take_line(line);
    if (step != Step::wait) return {step, used};
  }
  const std::string_view open = text.substr(used);
  if (open.size() <= line_bytes_max) return {Step::wait, used};
  const std::string_view front = open.substr(0, open.size() - line_bytes_max / 2);
  return {take_noise(front), used + front.size()};
}

AgentStart::Step AgentStart::take_line(std::string_view line) {
  const auto after = [line](std::string_view prefix) -> std::optional<std::string_view> {
    const size_t at = line.find(prefix);
    if (at == std::string_view::npos) return std::nullopt;
    return trim(line.substr(at + prefix.size()));
  };
  if (const auto architecture = after(push_prefix)) return take_push(*architecture);
  if (const auto reason = after(cannot_prefix)) {
    if (cannot_.size() < noise_lines_kept) cannot_.push_back(printable(*reason, line_bytes_shown));
    return Step::wait;
  }
  if (after(run_prefix)) {
    ran_cached_copy_ = pushes_ == 0;
    return Step::wait;
  }
  return take_noise(line);
}

AgentStart::Step AgentStart::take_push(std::string_view architecture) {
  if (architecture != architecture_) {
    failure_ = format(
        "its processor is {}, and this dtrain is built for {}; leave it out, or start the "
        "job on a machine of its kind",
        printable(architecture), architecture_);
    return Step::failed;
  }
  if (++pushes_ <= pushes_max) return Step::push;
  failure_ = "it asked for the executable again and again";
  return Step::failed;
}

AgentStart::Step AgentStart::take_noise(std::string_view text) {
  noise_bytes_ += text.size();
  if (noise_bytes_ > noise_bytes_max) {
    failure_ = format("{} MiB came from it and no agent", noise_bytes_max >> 20);
    return Step::failed;
  }
  text = trim(text);
  if (text.empty()) return Step::wait;
  if (noise_.size() == noise_lines_kept) noise_.pop_front();
  noise_.emplace_back(text.substr(0, line_bytes_shown));
  return Step::wait;
}

std::string AgentStart::why() const {
  if (!failure_.empty()) return failure_;
  if (!cannot_.empty()) {
    return format("dtrain could not be put anywhere there:\n  {}", join(cannot_, "\n  "));
  }
  if (noise_.empty()) return "it closed the connection without any output";
  std::string text = "it printed this instead of starting dtrain's agent:";
  for (const std::string& line : noise_)
    text += "\n  " + printable(line, line_bytes_shown);
  return text;
}

}  // namespace dt
