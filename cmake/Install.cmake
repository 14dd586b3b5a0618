# cmake --install build/release --prefix P: the program with its verbs, the libraries with
# their headers, and what find_package(Tessera) and pkg-config need.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Where the program looks for its verbs: ../lib")
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tessera_program tessera_light_verbs tessera_all_verbs)
install(TARGETS tessera_store EXPORT TesseraStoreTargets)
install(TARGETS tessera_library EXPORT TesseraTargets)
# The headers are those that docs/library.md lists.
file(STRINGS docs/library.md lines REGEX "^\\| `[a-z_/]+\\.h` \\|")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^\\| `([a-z_/]+\\.h)` \\|.*" "\\1" header ${line})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES src/tessera/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/${folder})
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/library.md)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)
foreach(targets TesseraStoreTargets TesseraTargets)
  install(EXPORT ${targets} NAMESPACE Tessera:: DESTINATION ${package_folder})
endforeach()
configure_package_config_file(cmake/TesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/TesseraConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/TesseraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/TesseraConfig.cmake
              ${PROJECT_BINARY_DIR}/package/TesseraConfigVersion.cmake
              cmake/LibTorch.cmake DESTINATION ${package_folder})

foreach(package tessera tessera_store)
  configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/package/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${package}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
