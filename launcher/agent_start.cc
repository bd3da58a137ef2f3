#include "launcher/agent_start.h"

#include "base/crypto.h"
#include "base/file.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/message.h"

namespace dt {

namespace {

constexpr size_t binary_bytes_max = size_t{512} << 20;  // with debug symbols and sanitizers
/// A login shell may say this much before our agent does; more is no login for us.
constexpr size_t noise_bytes_max = size_t{64} << 10;
constexpr size_t noise_lines_kept = 10;
constexpr int pushes_max = 3;  // one for each folder of the script

constexpr std::string_view push_word = "dtrain-push ";
constexpr std::string_view cannot_word = "dtrain-cannot ";

/// S and N stand for the digest and the size. Without single quotes, exclamation marks, backslashes
/// and line breaks, which shells read differently. `run FOLDER` becomes the agent if it can;
/// `put FOLDER` asks for the executable, keeps it under a name of its own until it is whole, and
/// then runs it.
constexpr std::string_view script =
    R"sh(umask 077; )sh"
    R"sh(run() { p=$1/S/dtrain; [ -O "$1" ] && [ -O "$p" ] && [ -x "$p" ] && exec "$p" agent; }; )sh"
    R"sh(no() { rm -f "$f"; echo "dtrain-cannot $1: $2"; }; )sh"
    R"sh(put() { f=; e=$(mkdir -p "$1/S" 2>&1) || { no "$1" "$e"; return; }; )sh"
    R"sh([ -O "$1" ] || { no "$1" "it belongs to somebody else"; return; }; )sh"
    R"sh(f=$1/S/new.$$; true 2>/dev/null >"$f" || { no "$1" "it cannot be written"; return; }; )sh"
    R"sh(chmod 700 "$f"; [ -x "$f" ] || { no "$1" "programs cannot run there (noexec)"; return; }; )sh"
    R"sh(echo "dtrain-push $(uname -m)"; )sh"
    R"sh(head -c N | { cat 2>/dev/null >"$f" || cat >/dev/null; }; )sh"
    R"sh([ "$(wc -c <"$f")" -eq N ] || { no "$1" "no room for N bytes"; return; }; )sh"
    R"sh(mv -f "$f" "$1/S/dtrain" && run "$1"; no "$1" "it cannot run there"; }; )sh"
    R"sh(a=$HOME/.cache/dtrain; b=$XDG_RUNTIME_DIR/dtrain; )sh"
    R"sh(run "$a"; run "$b"; c=/tmp/dtrain-$(id -u); run "$c"; )sh"
    R"sh(put "$a"; [ -n "$XDG_RUNTIME_DIR" ] && put "$b"; put "$c"; exit 126)sh";

std::string with_values(const AgentBinary& binary) {
  std::string text;
  for (size_t at = 0; at < script.size(); ++at) {
    // Whole words only: S after a slash, N between blanks or before a bracket.
    const char before = at == 0 ? ' ' : script[at - 1];
    const char after = at + 1 == script.size() ? ' ' : script[at + 1];
    const bool digest = script[at] == 'S' && before == '/' && (after == '/' || after == '"');
    const bool size = script[at] == 'N' && before == ' ' && (after == ' ');
    text += digest ? binary.sha256
            : size ? format("{}", binary.bytes.size())
                   : std::string(1, script[at]);
  }
  return text;
}

std::string hex(const Digest& digest) {
  std::string text;
  for (const std::byte byte : digest)
    text += format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

}  // namespace

Result<AgentBinary> AgentBinary::own() {
  const auto text = read_text_file("/proc/self/exe", binary_bytes_max);
  if (!text) {
    return fail(Errc::os, "cannot read dtrain's own executable: " + text.error().message);
  }
  const ByteSpan bytes = as_bytes(*text);
  return AgentBinary{.bytes = Bytes(bytes.begin(), bytes.end()), .sha256 = hex(dt::sha256(bytes))};
}

std::string agent_command(const AgentBinary& binary) {
  return "exec /bin/sh -c '" + with_values(binary) + "'";
}

std::string agent_script(const AgentBinary& binary) {
  return with_values(binary) + "\n";
}

AgentStart::Taken AgentStart::take(ByteSpan bytes) {
  const std::string_view text = as_text(bytes);
  size_t used = 0;
  for (;;) {
    // A prompt or a message without a line's end may stand before our line.
    const size_t magic = text.find(agent_magic, used);
    const size_t end = text.find('\n', used);
    if (magic != std::string_view::npos && magic <= end) {
      return {Step::agent, magic + agent_magic.size()};
    }
    if (end == std::string_view::npos) break;
    const Step step = line(text.substr(used, end - used));
    used = end + 1;
    if (step != Step::wait) return {step, used};
  }
  if (text.size() - used > noise_bytes_max) {
    failure_ = format("{} KiB came from it and no agent", noise_bytes_max >> 10);
    return {Step::failed, used};
  }
  return {Step::wait, used};
}

AgentStart::Step AgentStart::line(std::string_view text) {
  const size_t push = text.find(push_word);
  const size_t cannot = text.find(cannot_word);
  if (push != std::string_view::npos) {
    const std::string_view there = trim(text.substr(push + push_word.size()));
    if (there != architecture_) {
      failure_ = format("its processor is {}, this dtrain is built for {}; install dtrain there",
                        printable(there), architecture_);
      return Step::failed;
    }
    if (++pushes_ <= pushes_max) return Step::push;
    failure_ = "it asked for the executable again and again";
    return Step::failed;
  }
  if (cannot != std::string_view::npos) {
    cannot_.push_back(printable(text.substr(cannot + cannot_word.size()), 300));
    return Step::wait;
  }
  noise_bytes_ += text.size();
  if (noise_bytes_ > noise_bytes_max) {
    failure_ = format("{} KiB came from it and no agent", noise_bytes_max >> 10);
    return Step::failed;
  }
  if (noise_.size() == noise_lines_kept) noise_.erase(noise_.begin());
  noise_.push_back(printable(text));
  return Step::wait;
}

std::string AgentStart::why() const {
  if (!failure_.empty()) return failure_;
  if (!cannot_.empty()) {
    return format("dtrain could not be put anywhere there:\n  {}", join(cannot_, "\n  "));
  }
  if (noise_.empty()) return "it closed the connection without a word";
  return format("it said this instead of starting dtrain's agent:\n  {}", join(noise_, "\n  "));
}

}  // namespace dt
