# cmake --install build/release --prefix P: the program with its verbs, the library with its
# headers, and what find_package(Tessera) and pkg-config need.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Where the program looks for its verbs: ../lib")
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tessera_program tessera_light_verbs tessera_all_verbs)
install(TARGETS tessera_library EXPORT TesseraTargets)
install(DIRECTORY src/tessera TYPE INCLUDE FILES_MATCHING PATTERN "*.h"
        PATTERN "cli" EXCLUDE PATTERN "model_cli" EXCLUDE)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)
install(EXPORT TesseraTargets NAMESPACE Tessera:: DESTINATION ${package_folder})
configure_package_config_file(cmake/TesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/TesseraConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/TesseraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/TesseraConfig.cmake
              ${PROJECT_BINARY_DIR}/package/TesseraConfigVersion.cmake
              cmake/LibTorch.cmake DESTINATION ${package_folder})

configure_file(cmake/tessera.pc.in ${PROJECT_BINARY_DIR}/package/tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
