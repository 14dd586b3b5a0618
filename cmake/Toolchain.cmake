# Compiler, linker and compiler cache: the same for every target of Tessera.

# Paths below the source folder are cached relative to it, so that a second clone finds the objects
# of the first.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  # Lets ccache see which precompiled header an object was made with.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(TESSERA_X86 ON)
else()
  # As on x86-64, whose baseline has no fused product and sum: what is promised to the bit is the same.
  add_compile_options(-fsigned-char -ffp-contract=off)
endif()

# -fPIC for programs, too, not -fPIE: both kinds of target share the precompiled headers.
add_compile_options(-fPIC)
add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-math-errno -fopenmp)
add_link_options(-fopenmp)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC looks for memory to reuse later: a tenth quicker for a tenth more memory.
  add_compile_options(--param=ggc-min-expand=300)
  add_compile_options(-Wno-restrict)  # false alarms in std::string (GCC bug 105651)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # false alarms in LibTorch's use of std::vector<bool>
    add_compile_options(-Wno-array-bounds -Wno-stringop-overflow)
  endif()
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # LibTorch 1.13 leaves c10::IValue incomplete where libstdc++ 12 needs it in C++20.
  add_compile_options(-Wno-unknown-warning-option)
endif()

# Cold code is compiled a quarter quicker. From GCC 13 on precompiled headers, made with -O3, may be used
# only where these flags, which -O1 does not have, are the same.
set(TESSERA_COLD_OPTIONS -O1)
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-munroll-only-small-loops TESSERA_HAS_UNROLL_ONLY_SMALL_LOOPS)
if(TESSERA_HAS_UNROLL_ONLY_SMALL_LOOPS)
  list(APPEND TESSERA_COLD_OPTIONS -munroll-only-small-loops -mvzeroupper)
endif()
set(TESSERA_TEST_OPTIONS $<$<CONFIG:Release>:-O0>)
