#include "examples/digits/options.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

namespace digits {
namespace {

struct Word {
  std::string option;
  std::string value;
};

UsageError bad_value(const Word& word, const std::string& needed) {
  return UsageError(word.option + ": " + needed + " is needed, not '" + word.value + "'");
}

template <typename Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

std::size_t whole_number(const Word& word, std::size_t most) {
  const std::optional<std::size_t> number = parse_number<std::size_t>(word.value);
  if (number && *number >= 1 && *number <= most) return *number;
  throw bad_value(word, "a whole number from 1 to " + std::to_string(most));
}

void set_batch(Options& options, const Word& word) {
  constexpr std::size_t batch_max = 1'000'000;
  options.batch = whole_number(word, batch_max);
  options.batch_per_rank = word.option == "--batch-per-rank";
}

void set_epochs(Options& options, const Word& word) {
  constexpr std::size_t epochs_max = 1'000'000;
  options.epochs = whole_number(word, epochs_max);
}

void set_learning_rate(Options& options, const Word& word) {
  const std::optional<double> rate = parse_number<double>(word.value);
  if (!rate || !std::isfinite(*rate) || *rate <= 0) throw bad_value(word, "a number above 0");
  options.learning_rate = *rate;
}

void set_seed(Options& options, const Word& word) {
  const std::optional<std::uint64_t> seed = parse_number<std::uint64_t>(word.value);
  if (!seed) throw bad_value(word, "a whole number from 0");
  options.seed = *seed;
}

std::string file_name(const Word& word) {
  if (word.value.empty()) throw bad_value(word, "the name of a file");
  return word.value;
}

void set_device(Options& options, const Word& word) {
  if (word.value != "cpu" && word.value != "gpu") throw bad_value(word, "cpu or gpu");
  options.gpu = word.value == "gpu";
}

struct Valued {
  std::string_view option;
  void (*set)(Options&, const Word&);
};

constexpr Valued valued_options[] = {
    {"--global-batch", set_batch},
    {"--batch-per-rank", set_batch},
    {"--epochs", set_epochs},
    {"--learning-rate", set_learning_rate},
    {"--seed", set_seed},
    {"--device", set_device},
    {"--data", [](Options& options, const Word& word) { options.images = file_name(word); }},
    {"--checkpoint",
     [](Options& options, const Word& word) { options.checkpoint = file_name(word); }},
};

const Valued* find_valued(std::string_view option) {
  for (const Valued& valued : valued_options) {
    if (valued.option == option) return &valued;
  }
  return nullptr;
}

}  // namespace

Options parse_options(std::span<const std::string> words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); i++) {
    if (words[i] == "--help" || words[i] == "-h") {
      options.help = true;
      return options;
    }
    if (words[i] == "--resume") {
      options.resume = true;
      continue;
    }
    const std::size_t equals = words[i].find('=');
    Word word{.option = words[i].substr(0, equals), .value = {}};
    const Valued* valued = find_valued(word.option);
    if (valued == nullptr) throw UsageError("unknown option '" + words[i] + "'; try --help");
    if (equals != std::string::npos) {
      word.value = words[i].substr(equals + 1);
    } else if (i + 1 < words.size()) {
      word.value = words[++i];
    } else {
      throw UsageError(word.option + ": its value is missing");
    }
    valued->set(options, word);
  }
  if (options.resume && options.checkpoint.empty()) {
    throw UsageError("--resume goes on from a checkpoint: say which with --checkpoint FILE");
  }
  if (options.gpu && !options.checkpoint.empty()) {
    throw UsageError(
        "--device gpu has no checkpoints; leave out --checkpoint, or give --device cpu");
  }
  return options;
}

std::string usage() {
  const Options defaults;
  std::ostringstream text;
  text
      << "digits: trains a small neural network to read hand-written digits.\n"
         "\n"
         "  digits [options]                    on its own\n"
         "  dtrain run -np 4 digits [options]   in four processes, which share each batch\n"
         "  dtrain run -np 1 --strategy mirrored digits   on all devices of a process\n"
         "\n"
         "  --global-batch B     images a step, of all replicas together (default "
      << defaults.batch
      << ")\n"
         "  --batch-per-rank B   images a step of each replica; the rate is multiplied by "
         "their number\n"
         "  --epochs N           passes over the images (default "
      << defaults.epochs
      << ")\n"
         "  --learning-rate R    (default "
      << defaults.learning_rate
      << ")\n"
         "  --seed N             chooses first weights and order of the images (default "
      << defaults.seed
      << ")\n"
         "  --device cpu|gpu     cpu trains by dtrain's strategies (default), gpu on a GPU of each "
         "rank\n"
         "  --data FILE          the images; found beside the program or above it if not given\n"
         "  --checkpoint FILE    written by rank 0 after each epoch\n"
         "  --resume             go on from the --checkpoint file\n";
  return text.str();
}

}  // namespace digits
