#include "launcher/ssh/libssh2.h"

namespace dt {

SshLibrary ssh_library() {
  return {.present = false, .rsa_sha2 = false, .text = DTRAIN_SSH_ABSENT};
}

Result<std::unique_ptr<SshProtocol>> open_ssh_protocol(SshProtocol::Options) {
  return fail(Errc::unsupported, ssh_library().text);
}

}  // namespace dt
