#pragma once

#include "base/io/network.h"
#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Whether --network-interfaces can mean something by this: the name of an interface ("eth0") or
/// addresses, wherever a host has them ("10.0.0.0/8").
bool is_network_word(std::string_view word);

/// Those addresses that fit any of the words, in the order of the words, so that the user's first
/// choice is tried first; all when there are none. An error that names the host's interfaces when
/// nothing fits.
Result<std::vector<InterfaceAddress>> allowed_addresses(const std::vector<InterfaceAddress>& all,
                                                        const std::vector<std::string>& words);

}  // namespace dt
