#include "examples/digits/images.h"
#include "examples/digits/network.h"
#include "examples/digits/options.h"
#include "examples/digits/sampling.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace digits {
namespace {

namespace fs = std::filesystem;

using dt::TemporaryFolder;

fs::path path_in(const TemporaryFolder& folder, const std::string& name) {
  return fs::path(folder.path()) / name;
}

fs::path write_in(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  folder.write(name, text);
  return path_in(folder, name);
}

/// Returns the text that the call throws, without the folder; "" when it throws nothing.
std::string message_of(const std::function<void()>& call, const fs::path& folder = {}) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    const std::string prefix = folder.empty() ? "" : folder.string() + "/";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }
  return "";
}

std::string image_line(const std::string& first, const std::string& last) {
  std::string line = first;
  for (std::size_t i = 1; i < pixel_count; i++)
    line += ",0";
  return line + "," + last + "\n";
}

Image example_image(std::size_t digit) {
  Image image;
  for (std::size_t i = 0; i < pixel_count; i++) {
    image.pixels[i] = static_cast<double>((i * 7 + digit * 3) % 17) / 16;
  }
  image.digit = digit;
  return image;
}

TEST_CASE("images are 64 pixels from 0 to 1 and a digit; CRLF and blank lines are taken") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 5; i++)
    text += image_line("16", "7") + "\n";
  for (int i = 0; i < 4; i++)
    text += image_line("4", "0");
  std::string last = image_line("0", "9");
  last.insert(last.size() - 1, "\r");
  const std::vector<Image> images = read_images(write_in(folder, "digits.csv", text + last));
  REQUIRE(images.size() == 10);
  CHECK(images[0].pixels[0] == 1.0);
  CHECK(images[0].pixels[1] == 0.0);
  CHECK(images[0].digit == 7);
  CHECK(images[8].pixels[0] == 0.25);
  CHECK(images[9].digit == 9);
}

TEST_CASE("a file that holds no images is refused with line, value and reason") {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::string good = image_line("1", "2");
  const Case cases[] = {
      {"", "x.csv: 0 images; at least 10 are needed to train and test"},
      {good, "x.csv: 1 images; at least 10 are needed to train and test"},
      {"1,2,3\n", "x.csv:1: 64 pixels and a digit are needed, here are 3 values"},
      {good + good + "0," + good, "x.csv:3: 64 pixels and a digit are needed, here are 66 values"},
      {image_line("17", "2"), "x.csv:1: value 1: a pixel is a number from 0 to 16, not '17'"},
      {image_line("-1", "2"), "x.csv:1: value 1: a pixel is a number from 0 to 16, not '-1'"},
      {image_line("1.5", "2"), "x.csv:1: value 1: a pixel is a number from 0 to 16, not '1.5'"},
      {image_line("", "2"), "x.csv:1: value 1: a pixel is a number from 0 to 16, not ''"},
      {good + image_line("pixel", "2"),
       "x.csv:2: value 1: a pixel is a number from 0 to 16, not 'pixel'"},
      {image_line("1", "10"), "x.csv:1: the last value is the digit, 0 to 9, not '10'"},
      {image_line("1", "x"), "x.csv:1: the last value is the digit, 0 to 9, not 'x'"},
  };
  for (const Case& c : cases) {
    const TemporaryFolder folder;
    const fs::path file = write_in(folder, "x.csv", c.text);
    const std::string message = message_of([&] { read_images(file); }, file.parent_path());
    CHECK(message == c.message);
  }
}

TEST_CASE("a missing file and a folder in its place are refused") {
  const TemporaryFolder folder;
  for (const fs::path& path : {path_in(folder, "none.csv"), path_in(folder, "")}) {
    CAPTURE(path);
    const std::string message = message_of([&] { read_images(path); });
    CHECK(message == path.string() + ": the images cannot be read; give --data FILE");
  }
}

TEST_CASE("the images are found beside the program, above it, or where it was built from") {
  const TemporaryFolder folder;
  const fs::path built = path_in(folder, "a/build/release/examples/digits");
  const fs::path source = write_in(folder, "a/examples/data/digits.csv", "source");
  CHECK(find_images(built) == source);
  const fs::path shipped = write_in(folder, "p/share/dtrain/digits.csv", "shipped");
  CHECK(find_images(path_in(folder, "p/bin/digits")) == shipped);
  const fs::path near = write_in(folder, "a/build/examples/data/digits.csv", "near");
  CHECK(find_images(built) == near);
  // Nothing near: the source tree, which a test has.
  CHECK(fs::is_regular_file(find_images("/digits")));
}

TEST_CASE("the split is the same in every run and loses no image") {
  std::vector<Image> images(103);
  for (std::size_t i = 0; i < images.size(); i++)
    images[i].pixels[0] = static_cast<double>(i);
  const Split split = split_images(images);
  CHECK(split.training.size() == 82);
  CHECK(split.test.size() == 21);
  std::set<double> seen;
  for (const Image& image : split.training)
    seen.insert(image.pixels[0]);
  for (const Image& image : split.test)
    seen.insert(image.pixels[0]);
  CHECK(seen.size() == images.size());
  CHECK(split_images(images).test[0].pixels[0] == split.test[0].pixels[0]);
}

TEST_CASE("an order holds every number once and differs by seed and epoch") {
  const std::vector<std::size_t> order = epoch_order(100, 1, 0);
  CHECK(std::set<std::size_t>(order.begin(), order.end()).size() == 100);
  CHECK(*std::max_element(order.begin(), order.end()) == 99);
  CHECK(epoch_order(100, 1, 0) == order);
  CHECK(epoch_order(100, 1, 1) != order);
  CHECK(epoch_order(100, 2, 0) != order);
  CHECK(shuffled_order(0, 1).empty());
  // The generator's numbers are the standard's, so this order is every machine's.
  CHECK(shuffled_order(5, 1998) == std::vector<std::size_t>{4, 2, 0, 1, 3});
}

TEST_CASE("the gradient is the slope of the loss") {
  Network::Values weights = Network::random_weights(3);
  const Network network(weights);
  const Image image = example_image(4);
  Network::Values gradient = Network::zeros();
  CHECK(network.add_gradient(image, gradient) == doctest::Approx(network.loss(image)));

  // Central differences, at some weights of each tensor.
  constexpr double step = 1e-5;
  for (std::size_t t = 0; t < Network::tensor_count; t++) {
    CAPTURE(Network::tensors[t].name);
    for (std::size_t i = 0; i < weights[t].size(); i += 1 + weights[t].size() / 100) {
      CAPTURE(i);
      double& weight = weights[t][i];
      const double middle = weight;
      weight = middle + step;
      const double above = network.loss(image);
      weight = middle - step;
      const double below = network.loss(image);
      weight = middle;
      const double slope = (above - below) / (2 * step);
      CHECK(gradient[t][i] == doctest::Approx(slope).epsilon(1e-5).scale(1e-2));
    }
  }
}

TEST_CASE("gradients of several images add up") {
  const Network::Values weights = Network::random_weights(3);
  const Network network(weights);
  Network::Values first = Network::zeros();
  Network::Values second = Network::zeros();
  Network::Values both = Network::zeros();
  network.add_gradient(example_image(1), first);
  network.add_gradient(example_image(2), second);
  network.add_gradient(example_image(1), both);
  network.add_gradient(example_image(2), both);
  for (std::size_t t = 0; t < both.size(); t++)
    for (std::size_t i = 0; i < both[t].size(); i++)
      REQUIRE(both[t][i] == doctest::Approx(first[t][i] + second[t][i]));
}

TEST_CASE("first weights depend on the seed alone, and know nothing yet") {
  CHECK(Network::random_weights(5) == Network::random_weights(5));
  CHECK(Network::random_weights(5) != Network::random_weights(6));
  // A network without weights finds all digits equally likely.
  const Network::Values zeros = Network::zeros();
  CHECK(Network(zeros).loss(example_image(3)) == doctest::Approx(std::log(10)));
}

TEST_CASE("a step against the gradient lowers the loss until the network reads the images") {
  Network::Values weights = Network::random_weights(1);
  const Network network(weights);
  const std::vector<Image> images = {example_image(1), example_image(5)};
  const double before = mean_loss(network, images);
  for (int step = 0; step < 50; step++) {
    Network::Values gradient = Network::zeros();
    for (const Image& image : images)
      network.add_gradient(image, gradient);
    for (std::size_t t = 0; t < weights.size(); t++)
      for (std::size_t i = 0; i < weights[t].size(); i++)
        weights[t][i] -= 0.01 * gradient[t][i];
  }
  CHECK(mean_loss(network, images) < before / 2);
  CHECK(accuracy(network, images) == 1.0);
}

TEST_CASE("options are read as --option value and --option=value, the last one counting") {
  const std::vector<std::string> words = {
      "--epochs",        "3",   "--seed=9",   "--batch-per-rank", "16",
      "--learning-rate", "0.5", "--data=a=b", "--checkpoint",     "c",
      "--resume"};
  const Options options = parse_options(words);
  CHECK(options.epochs == 3);
  CHECK(options.seed == 9);
  CHECK(options.batch == 16);
  CHECK(options.batch_per_rank);
  CHECK(options.learning_rate == 0.5);
  CHECK(options.images == "a=b");
  CHECK(options.checkpoint == "c");
  CHECK(options.resume);

  const std::vector<std::string> twice = {"--batch-per-rank=1", "--global-batch=2"};
  CHECK(parse_options(twice).batch == 2);
  CHECK(!parse_options(twice).batch_per_rank);
  CHECK(!parse_options({}).batch_per_rank);

  CHECK(!parse_options({}).gpu);
  CHECK(parse_options(std::vector<std::string>{"--device", "gpu"}).gpu);
  CHECK(!parse_options(std::vector<std::string>{"--device=gpu", "--device=cpu"}).gpu);
}

TEST_CASE("a wrong word on the command line is named with what is needed") {
  struct Case {
    std::vector<std::string> words;
    std::string message;
  };
  const Case cases[] = {
      {{"--epoch", "3"}, "unknown option '--epoch'; try --help"},
      {{"file"}, "unknown option 'file'; try --help"},
      {{""}, "unknown option ''; try --help"},
      {{"--resume=yes"}, "unknown option '--resume=yes'; try --help"},
      {{"--epochs"}, "--epochs: its value is missing"},
      {{"--epochs", "0"}, "--epochs: a whole number from 1 to 1000000 is needed, not '0'"},
      {{"--epochs=-3"}, "--epochs: a whole number from 1 to 1000000 is needed, not '-3'"},
      {{"--global-batch=1e2"},
       "--global-batch: a whole number from 1 to 1000000 is needed, not '1e2'"},
      {{"--batch-per-rank="},
       "--batch-per-rank: a whole number from 1 to 1000000 is needed, not ''"},
      {{"--learning-rate", "0"}, "--learning-rate: a number above 0 is needed, not '0'"},
      {{"--learning-rate=inf"}, "--learning-rate: a number above 0 is needed, not 'inf'"},
      {{"--learning-rate", "nan"}, "--learning-rate: a number above 0 is needed, not 'nan'"},
      {{"--learning-rate=0.1x"}, "--learning-rate: a number above 0 is needed, not '0.1x'"},
      {{"--device", "tpu"}, "--device: cpu or gpu is needed, not 'tpu'"},
      {{"--device="}, "--device: cpu or gpu is needed, not ''"},
      {{"--device=gpu", "--checkpoint=c"},
       "--device gpu has no checkpoints; leave out --checkpoint, or give --device cpu"},
      {{"--seed", "x"}, "--seed: a whole number from 0 is needed, not 'x'"},
      {{"--data", ""}, "--data: the name of a file is needed, not ''"},
      {{"--resume"}, "--resume goes on from a checkpoint: say which with --checkpoint FILE"},
  };
  for (const Case& c : cases) {
    try {
      parse_options(c.words);
      FAIL("accepted, but expected: " << c.message);
    } catch (const UsageError& error) {
      CHECK(error.what() == c.message);
    }
  }
}

TEST_CASE("the help names every option") {
  for (const char* option : {"--global-batch", "--batch-per-rank", "--epochs", "--learning-rate",
                             "--device", "--seed", "--data", "--checkpoint", "--resume"}) {
    CAPTURE(option);
    CHECK(usage().find(option) != std::string::npos);
  }
  CHECK(parse_options(std::vector<std::string>{"-h", "--whatever"}).help);
}

}  // namespace
}  // namespace digits
