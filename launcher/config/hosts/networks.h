#pragma once

#include "base/io/network.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// True for a valid value of --network-interfaces: the name of an interface ("eth0") or a range of
/// addresses ("10.0.0.0/8").
bool is_network_word(std::string_view word);

/// Returns the addresses that fit any of the words, in the order of the words. So the user's first
/// choice is tried first. Returns all if there are no words. If none fits, the error names the
/// host's interfaces.
Result<std::vector<InterfaceAddress>> allowed_addresses(const std::vector<InterfaceAddress>& all,
                                                        const std::vector<std::string>& words);

}  // namespace dt
