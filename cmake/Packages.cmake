# cpack --config build/release/CPackConfig.cmake: a Debian package of each component of Install.cmake.
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL ${TESSERA_PACKAGES})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_CONTACT "The Tessera authors <maintainers@tessera.example>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Where the libraries lie that another of these packages holds.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})

set(CPACK_DEBIAN_TESSERA_PACKAGE_NAME tessera)
set(CPACK_COMPONENT_TESSERA_DESCRIPTION
"The program: stores of documents that recite, name their sources and
forget exactly, and language models whose tokens can be traced to the
stored pairs that made them.")
set(CPACK_DEBIAN_TESSERA_PACKAGE_DEPENDS libopenblas0-openmp)
set(CPACK_DEBIAN_TESSERA_PACKAGE_RECOMMENDS bible-kjv)  # the text of the first steps
set(CPACK_DEBIAN_TESSERA_PACKAGE_SUGGESTS "librsvg2-bin, tessera-doc")

set(CPACK_DEBIAN_LIBTESSERA-DEV_PACKAGE_NAME libtessera-dev)
set(CPACK_DEBIAN_LIBTESSERA-DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBTESSERA-DEV_DESCRIPTION
"The library: headers and shared libraries to build a memory unit, or a
memory of documents, into a C++ program.")
set(CPACK_DEBIAN_LIBTESSERA-DEV_PACKAGE_DEPENDS
    "libopenblas0-openmp, libtorch-dev, libfmt-dev, nlohmann-json3-dev")
# Programs that are built with the libraries depend on this package; the loader learns of them.
file(WRITE ${PROJECT_BINARY_DIR}/package/shlibs
     "libtessera ${PROJECT_VERSION_MAJOR} libtessera-dev\n"
     "libtessera_store ${PROJECT_VERSION_MAJOR} libtessera-dev\n")
file(WRITE ${PROJECT_BINARY_DIR}/package/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBTESSERA-DEV_PACKAGE_CONTROL_EXTRA
    ${PROJECT_BINARY_DIR}/package/shlibs ${PROJECT_BINARY_DIR}/package/triggers)

set(CPACK_DEBIAN_TESSERA-DOC_PACKAGE_NAME tessera-doc)
set(CPACK_DEBIAN_TESSERA-DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_TESSERA-DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_TESSERA-DOC_DESCRIPTION
"The documentation of the program and of the library, and examples.")

set(CPACK_DEBIAN_PYTHON3-TESSERA_PACKAGE_NAME python3-tessera)
set(CPACK_DEBIAN_PYTHON3-TESSERA_PACKAGE_SECTION python)
set(CPACK_COMPONENT_PYTHON3-TESSERA_DESCRIPTION
"import tessera: stores of documents that forget exactly, associative
memories as PyTorch modules, and trained models that can be looked into.")
# Its modules are built for this Python and this PyTorch.
set(CPACK_DEBIAN_PYTHON3-TESSERA_PACKAGE_DEPENDS
    "libtessera-dev (= ${PROJECT_VERSION}), python3 (>= ${TESSERA_PYTHON_VERSION}), python3 (<< ${TESSERA_PYTHON_VERSION}.99), python3-torch")
include(CPack)
