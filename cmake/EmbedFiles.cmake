# cmake -D FOLDER=… -D OUTPUT=… -P EmbedFiles.cmake: a C++ file that holds every file of a folder.
set(type_html text/html)
set(type_css text/css)
set(type_js text/javascript)
set(type_svg image/svg+xml)
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
set(arrays "")
set(table "")
set(number 0)
foreach(file IN LISTS files)
  get_filename_component(suffix ${file} LAST_EXT)
  string(REGEX REPLACE "^\\." "" suffix "${suffix}")
  set(type "${type_${suffix}}")
  if(type STREQUAL "")
    message(FATAL_ERROR "${FOLDER}/${file}: no content type is known for '${suffix}'")
  endif()
  if(type MATCHES "^text/")
    string(APPEND type "; charset=utf-8")
  endif()
  file(READ ${FOLDER}/${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "const unsigned char file_${number}[] = {${bytes}0};\n")
  string(REGEX REPLACE "^index\\.html$" "" path "${file}")
  string(APPEND table "    {\"/${path}\", \"${type}\", {reinterpret_cast<const char*>(file_${number}), sizeof file_${number} - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Written by cmake/EmbedFiles.cmake.
#include \"program/web/web_files.h\"

namespace tessera::web {
namespace {

${arrays}
}  // namespace

std::span<const WebFile> web_files() {
  static const WebFile files[] = {
${table}  };
  return files;
}

}  // namespace tessera::web
")
