# Toolchain file: 64-bit Arm from another processor, with Debian's cross compiler and with the libraries
# that packaging/try-arm64 puts into this folder. Tests run under qemu-aarch64.
set(TESSERA_ARM64_ROOT /var/tmp/tessera-arm64/root CACHE PATH "Folder with Debian's libraries for arm64")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TESSERA_ARM64_ROOT)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_SYSROOT ${TESSERA_ARM64_ROOT})
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(libraries ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT}
    -E LD_LIBRARY_PATH=${libraries}/openblas-openmp:${libraries}  # what Debian's alternatives would link
    -E OPENBLAS_CORETYPE=ARMV8)                                   # tests name one of x86-64
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)  # GCC's notes on what changed before version 10

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
