#include "cmd/check_build.h"

#include "base/format.h"
#include "base/version.h"
#include "gpu/cuda/cuda_build.h"
#include "launcher/ssh/libssh2.h"

#include <span>
#include <string_view>
#include <vector>

namespace dt {
namespace {

struct Ability {
  std::string name;
  bool there = false;
};

std::string section(std::string_view title, std::span<const Ability> abilities) {
  std::string text = format("\n{}:\n", title);
  for (const Ability& ability : abilities)
    text += format("    [{}] {}\n", ability.there ? 'X' : ' ', ability.name);
  return text;
}

/// Without libssh2, the OpenSSH client still reaches other hosts.
std::string ssh_text() {
  const SshLibrary library = ssh_library();
  return library.present ? format("SSH ({}, or the ssh command)", library.text)
                         : std::string("SSH (the ssh command)");
}

}  // namespace

std::string check_build_text() {
  const std::vector<Ability> frameworks = {
      {"TensorFlow", true}, {"PyTorch", true}, {"JAX", true}, {"MXNet", true}, {"Paddle", true}};
  // Scripts of horovodrun's users search for the names as they are: Gloo is Horovod's controller.
  const std::vector<Ability> controllers = {
      {"MPI", false}, {"Gloo", true}, {"TCP (dtrain's own rendezvous)", true}, {ssh_text(), true}};
  const std::vector<Ability> operations = {
      {"NCCL", !cuda_build().nccl.empty()},
      {"MPI", false},
      {"Shared memory and TCP (libdtrain, in place of Gloo)", true}};
  return format("dtrain {}:\n", build_version) + section("Available Frameworks", frameworks) +
         section("Available Controllers", controllers) +
         section("Available Tensor Operations", operations) +
         "\ndtrain starts programs of these frameworks, and contains none. To see what a host "
         "has:\n"
         "dtrain check --import torch\n";
}

}  // namespace dt
