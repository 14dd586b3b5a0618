# Everything Tessera builds on, all of it packaged by Debian (see debian-packages.sh).

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED CONFIG)
find_package(CLI11 REQUIRED CONFIG)
find_package(PkgConfig REQUIRED)
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)  # header only
find_package(SQLite3 REQUIRED)
if(NOT TARGET SQLite3::SQLite3)  # as CMake calls it from 4.3 on
  add_library(SQLite3::SQLite3 ALIAS SQLite::SQLite3)
endif()
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
find_package(CURL REQUIRED)
find_package(LibXml2 REQUIRED)  # reads HTML
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
include(LibTorch)

# Boost.Asio and Boost.Beast: headers only.
find_package(Boost 1.74 REQUIRED CONFIG)

# oneDNN for the products of bytes; LibTorch comes with the same library.
find_path(DNNL_INCLUDE oneapi/dnnl/dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(tessera_dnnl INTERFACE IMPORTED GLOBAL)
target_include_directories(tessera_dnnl INTERFACE ${DNNL_INCLUDE})
target_link_libraries(tessera_dnnl INTERFACE ${DNNL_LIBRARY})

# glibc returns big tensors to the kernel and faults them in again at every step; tcmalloc keeps them.
find_library(TCMALLOC_LIBRARY NAMES libtcmalloc_minimal.so.4 REQUIRED)
