# cmake --install build/release --prefix P, in components, which are also Debian packages:
#   tessera          the program with its verbs, its model of short stories, its manual pages and completions
#   libtessera-dev   the libraries with their headers, what find_package(Tessera) and pkg-config need
#   tessera-doc      the documentation and the examples
#   python3-tessera  `import tessera`
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Where the program looks for its verbs: ../lib/tessera")
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME tessera)
install(TARGETS tessera_program)
install(TARGETS tessera_light_verbs tessera_all_verbs
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
install(DIRECTORY ${PROJECT_BINARY_DIR}/stand-ins DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera OPTIONAL)
install(DIRECTORY models DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera)
install(CODE [[
  set(share $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share)
  execute_process(COMMAND $<TARGET_FILE:tessera_program> manual ${share} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages ${share}/man/man1/tessera*.1)
  execute_process(COMMAND gzip -fn9 ${pages} COMMAND_ERROR_IS_FATAL ANY)]])

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME tessera-doc)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME libtessera-dev)
install(TARGETS tessera_store EXPORT TesseraStoreTargets)
install(TARGETS tessera_library EXPORT TesseraTargets)
# The headers are those that docs/library.md lists.
file(STRINGS docs/library.md lines REGEX "^\\| `[^`]+\\.h` \\|")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^\\| `([^`]+)`.*" "\\1" header ${line})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES src/tessera/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/${folder})
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS docs/library.md CHANGELOG.md)

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

set(pc_torch_include ${torch_include})
if(NOT torch_include STREQUAL ATEN_INCLUDE)  # links to LibTorch's own folders (LibTorch.cmake)
  install(DIRECTORY ${torch_include} DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
  set(pc_torch_include "\${libdir}/tessera/libtorch_headers")
endif()
foreach(package tessera tessera_store)
  configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/package/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${package}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

if(TESSERA_BUILD_PYTHON)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME python3-tessera)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/python3/dist-packages/tessera)
  install(TARGETS tessera_python_stores tessera_python_networks DESTINATION ${package_folder})
  set(stubs _functions.pyi _store_jobs.pyi _model_jobs.pyi)
  list(TRANSFORM stubs PREPEND ${PROJECT_BINARY_DIR}/python/tessera/)
  install(DIRECTORY src/python/tessera/ DESTINATION ${package_folder} PATTERN __pycache__ EXCLUDE)
  install(FILES ${stubs} DESTINATION ${package_folder})
endif()

# What Debian wants of every package.
set(TESSERA_PACKAGES tessera libtessera-dev tessera-doc)
if(TESSERA_BUILD_PYTHON)
  list(APPEND TESSERA_PACKAGES python3-tessera)
endif()
execute_process(COMMAND gzip -n9 INPUT_FILE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
                OUTPUT_FILE ${PROJECT_BINARY_DIR}/package/changelog.gz COMMAND_ERROR_IS_FATAL ANY)
foreach(component IN LISTS TESSERA_PACKAGES)
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/${component})
  install(FILES LICENSE DESTINATION ${doc} RENAME copyright COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/package/changelog.gz DESTINATION ${doc} COMPONENT ${component})
  install(FILES packaging/lintian/${component} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
          COMPONENT ${component} OPTIONAL)
endforeach()
