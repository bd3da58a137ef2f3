#include "launcher/ssh/login.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/keys/wire.h"

#include <algorithm>

namespace dt {

using Step = SshProtocol::Step;

SshLogin::SshLogin(SshProtocol& protocol, SshCredentials credentials, KeyAgent* agent,
                   std::function<void()> on_progress)
    : protocol_(protocol),
      credentials_(std::move(credentials)),
      agent_(agent),
      on_progress_(std::move(on_progress)) {
}

Result<Step> SshLogin::step() {
  if (listing_ == Listing::not_yet && agent_ != nullptr) {
    listing_ = Listing::requested;
    agent_->list_keys([this, alive = std::weak_ptr(alive_)](Result<std::vector<Bytes>> keys) {
      if (alive.expired()) return;
      if (!keys) problems_.push_back(keys.error().message);
      choose(keys ? *std::move(keys) : std::vector<Bytes>());
      on_progress_();
    });
  } else if (listing_ == Listing::not_yet) {
    choose({});
  }
  if (listing_ == Listing::requested) return Step::waiting;

  while (!candidates_.empty()) {
    const Candidate& candidate = candidates_.front();
    Result<Step> result = attempt(candidate);
    if (result) return result;
    const Errc code = result.error().code;
    const std::string label = candidate.label;
    candidates_.pop_front();
    signing_ = false;
    signature_.reset();
    // Only the OpenSSH client can use an unsupported key. After it, or a refused key, the next key
    // is tried. Any other error ends the login.
    if (code == Errc::unsupported) {
      openssh_only_.push_back(label);
    } else {
      tried_.push_back(label);
    }
    if (code != Errc::unsupported && code != Errc::refused)
      return tl::unexpected(refusal(result.error()));
  }
  // No key is left. The error of this try contains the methods that the server accepts.
  Result<Step> result = protocol_.log_in_with_nothing(credentials_.user);
  if (!result) return tl::unexpected(refusal(result.error()));
  return result;
}

void SshLogin::choose(std::vector<Bytes> agent_keys) {
  listing_ = Listing::known;
  // Keys that are files and in ssh-agent come first, in the order of the files. Then follow the
  // agent's other keys, and at last the keys that are only files.
  const auto take_from_agent = [&](const Bytes& key) {
    const auto at = std::find(agent_keys.begin(), agent_keys.end(), key);
    if (key.empty() || at == agent_keys.end()) return false;
    add_agent_key(std::move(*at));
    agent_keys.erase(at);
    return true;
  };
  std::vector<std::shared_ptr<const SshIdentity>> files;
  for (const auto& identity : credentials_.identities) {
    const bool in_agent = take_from_agent(identity->public_blob);
    if (identity->has_certificate)
      openssh_only_.push_back(format("the certificate {}-cert.pub", identity->path));
    if (!in_agent) files.push_back(identity);
  }
  if (!credentials_.identities_only) {
    for (Bytes& key : agent_keys)
      add_agent_key(std::move(key));
  }
  for (const auto& identity : files) {
    if (!identity->problem.empty()) {
      if (std::ranges::find(problems_, identity->problem) == problems_.end())
        problems_.push_back(identity->problem);
      continue;
    }
    const std::string label = format("{} from {}", short_key_type(identity->type), identity->path);
    if (usable(identity->type, label))
      candidates_.push_back({.label = label, .identity = identity});
  }
}

void SshLogin::add_agent_key(Bytes key) {
  const std::string_view type = key_type_of(key);
  const std::string label = format("{} from ssh-agent", printable(short_key_type(type)));
  if (usable(type, label)) candidates_.push_back({.label = label, .agent_key = std::move(key)});
}

bool SshLogin::usable(std::string_view type, const std::string& label) {
  // Only the OpenSSH client can use keys on hardware tokens (sk-).
  const bool rsa = type.starts_with("ssh-rsa");
  if (!type.starts_with("sk-") && (!rsa || ssh_library().rsa_sha2)) return true;
  openssh_only_.push_back(label);
  return false;
}

Result<Step> SshLogin::attempt(const Candidate& candidate) {
  if (candidate.identity && candidate.identity->ed25519) {
    return protocol_.log_in_with_signer(
        credentials_.user, candidate.identity->public_blob,
        [&key = *candidate.identity->ed25519](ByteSpan data, uint32_t)
            -> Result<std::optional<Bytes>> { return TRY(key.sign(data)); });
  }
  if (candidate.identity)
    return protocol_.log_in_with_secret(credentials_.user, candidate.identity->secret);
  return protocol_.log_in_with_signer(
      credentials_.user, candidate.agent_key,
      [&](ByteSpan data, uint32_t flags) { return sign(candidate, data, flags); });
}

Result<std::optional<Bytes>> SshLogin::sign(const Candidate& candidate, ByteSpan data,
                                            uint32_t flags) {
  if (signature_) {
    if (!*signature_) {
      problems_.push_back(signature_->error().message);
      return tl::unexpected(signature_->error());
    }
    return std::optional<Bytes>(**signature_);
  }
  // libssh2 calls this again for each step until the signature is there; ssh-agent gets one
  // request.
  if (!signing_) {
    signing_ = true;
    agent_->sign({.key = candidate.agent_key, .data = data, .flags = flags},
                 [this, alive = std::weak_ptr(alive_)](Result<Bytes> signature) {
                   if (alive.expired()) return;
                   signature_ = std::move(signature);
                   on_progress_();
                 });
  }
  return std::optional<Bytes>();
}

std::string login_refused_text(const std::string& copy_id, const std::vector<std::string>& tried,
                               const std::vector<std::string>& problems) {
  const std::string text =
      format("login refused ({})", tried.empty() ? "no key to try" : "tried " + join(tried, ", "));
  if (!problems.empty()) return format("{}; {}", text, join(problems, "; "));
  return format("{}; try: {}ssh-copy-id {}", text,
                tried.empty() ? "ssh-keygen -t ed25519, then " : "", copy_id);
}

Error SshLogin::refusal(const Error& last) const {
  const bool refused = last.code == Errc::refused;
  // `unsupported` makes the caller try the OpenSSH client, which can use the keys left out here.
  const bool left_out = !openssh_only_.empty() && refused;
  std::vector<std::string> problems = problems_;
  if (!refused) {
    problems = {last.message};
  } else if (last.message.find("publickey") == std::string::npos) {
    problems = {format("the server takes no keys, only {}", last.message)};
  }
  if (left_out) {
    problems = {format("{} works with the OpenSSH client only", join(openssh_only_, ", "))};
  }
  return {left_out ? Errc::unsupported : last.code,
          login_refused_text(credentials_.copy_id, tried_, problems)};
}

}  // namespace dt
