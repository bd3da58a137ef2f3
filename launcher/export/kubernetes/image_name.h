#pragma once

#include <string_view>

namespace dt {

/// True for [HOST[:PORT]/]NAME[:TAG][@DIGEST] as nodes of a cluster parse the name of an image.
/// They pull no other one, although the cluster takes its manifest.
bool is_image_name(std::string_view text);

}  // namespace dt
