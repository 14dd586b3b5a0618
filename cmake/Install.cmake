# cmake --install build/release --prefix P: the program with its verbs, the libraries with
# their headers, and what find_package(Tessera) and pkg-config need.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Where the program looks for its verbs: ../lib")
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tessera_program tessera_light_verbs tessera_all_verbs)
install(TARGETS tessera_store EXPORT TesseraStoreTargets)
install(TARGETS tessera_library EXPORT TesseraTargets)
install(DIRECTORY src/tessera TYPE INCLUDE FILES_MATCHING PATTERN "*.h"
        PATTERN "cli" EXCLUDE PATTERN "model_cli" EXCLUDE PATTERN "serve" EXCLUDE)

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
