#include "launcher/export/kubernetes/image_name.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("an image has a name, and may have a registry, a tag and a digest") {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const std::string& good :
       {std::string("i"), std::string("reg/train:v1"), std::string("python:3.12-slim"),
        std::string("my_org/my-app__x:Tag_1.0"), std::string("localhost/i"),
        std::string("localhost:5000/i:v1"), std::string("gcr.io/a/b/c"),
        std::string("Reg.Example.org/i"), std::string("[fd00::1]:5000/i"), "i" + digest,
        "reg.example.org:443/a/i:v1" + digest, std::string(255, 'i')}) {
    CAPTURE(good);
    CHECK(is_image_name(good));
  }
}

TEST_CASE("blanks, capital letters of a name and empty parts are in no image") {
  for (const std::string& wrong : {std::string(),
                                   std::string("i i"),
                                   std::string(" i"),
                                   std::string("i\n"),
                                   std::string("Train"),
                                   std::string("reg/Train:v1"),
                                   std::string("i:"),
                                   std::string("i:.v"),
                                   std::string("i:v 1"),
                                   std::string("i:a:b"),
                                   std::string("/i"),
                                   std::string("i/"),
                                   std::string("a//i"),
                                   std::string("-i"),
                                   std::string("i-"),
                                   std::string("$IMAGE"),
                                   std::string("http://reg/i"),
                                   std::string("reg:/i"),
                                   std::string(".reg/i"),
                                   std::string("i@"),
                                   std::string("i@sha256"),
                                   std::string("i@sha256:"),
                                   std::string("i@:aa"),
                                   std::string("ä"),
                                   std::string(256, 'i'),
                                   "i:" + std::string(129, 't')}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_image_name(wrong));
  }
}

}  // namespace
}  // namespace dt
