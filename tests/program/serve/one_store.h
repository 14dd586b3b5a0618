#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/program/serve/tiny_service.h"
#include "tests/store/small_stores.h"

namespace tessera::serve {

inline const std::string kDocuments = "/v1/stores/books/documents";

/// A service with a store of one document.
class OneStore : public ::testing::Test {
 protected:
  void SetUp() override {
    store::MemoStore::create(folder_ / "books", store::small_memory(), store::byte_tokenizer());
    store::memorize(folder_ / "books", "one", "The raven sat above the door.");
    tiny_.service.models.add_store("books", (folder_ / "books").native(), {});
  }
  Json get(const std::string& path) { return tiny_.json(tiny_.ask("GET", path)); }
  Json post(const std::string& path, const Json& body, int status = 200) {
    return tiny_.json(tiny_.post(path, body), status);
  }

  test::TemporaryFolder folder_;
  TinyService tiny_;
};

}  // namespace tessera::serve
