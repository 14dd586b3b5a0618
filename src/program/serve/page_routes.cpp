#include "program/serve/service.h"
#include "program/web/web_files.h"

namespace tessera::serve {
namespace {

/// The page runs its own files alone and speaks to its own server alone.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

Response page_file(const web::WebFile& file) {
  return {.content_type = file.content_type,
          .body = std::string(file.content),
          .headers = {{"Content-Security-Policy", kPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}}};
}

}  // namespace

void add_page_routes(Router& router, Service&) {
  for (const web::WebFile& file : web::web_files())
    router.add("GET", file.path, [&file](const Request&) { return page_file(file); });
}

}  // namespace tessera::serve
