#pragma once

#include <string>

#include "tessera/store/certificate.h"

namespace tessera::jobs {

/// A certificate as a page that people read and print: one HTML file without scripts. json: of the
/// certificate, with its signature if it has one.
std::string certificate_page(const store::Certificate& certificate, const config::Json& json);

}  // namespace tessera::jobs
