#pragma once

#include <array>
#include <filesystem>
#include <string_view>

namespace tessera {

/// What pictures are turned into besides SVG.
enum class PictureFormat { kPng, kPdf };

constexpr std::array<std::string_view, 2> enum_names(PictureFormat) {
  return {"png", "pdf"};
}

/// Throws UsageError, naming the Debian package, where the program that convert_picture needs,
/// rsvg-convert, is not installed.
void require_picture_converter();

/// Writes picture.png, two pixels for each of the drawing's, or picture.pdf beside picture.svg,
/// whole or not at all. Throws SystemError where the file cannot be read or written.
void convert_picture(const std::filesystem::path& svg, PictureFormat format);

}  // namespace tessera
