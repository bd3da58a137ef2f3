#include "launcher/config/words/macro_words.h"

namespace dt {

bool takes_macros(std::span<const std::string> command, size_t word) {
  if (word == 0 || command[word].find_first_of(" \t\n\v\f\r") != std::string::npos) return false;
  return command[word - 1] != "-c" && command[word - 1] != "-e";
}

}  // namespace dt
