# A room is a folder of src/tessera: one static library, its headers, and its tests in tests/<room>.

# tessera_room(<name> [ROOMS <room>...] [LIBRARIES <target>...])
#   ROOMS      the rooms it may include; what those may include comes with them
#   LIBRARIES  the foreign libraries it uses
function(tessera_room name)
  cmake_parse_arguments(ARG "" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(NOT sources)
    add_library(tessera_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(tessera_${name} STATIC ${sources})
    set(scope PUBLIC)
  endif()
  target_include_directories(tessera_${name} ${scope} ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM ARG_ROOMS PREPEND tessera_)
  target_link_libraries(tessera_${name} ${scope} ${ARG_ROOMS} ${ARG_LIBRARIES})
  if(TESSERA_PRECOMPILE_HEADERS AND sources AND "tessera_torch" IN_LIST ARG_LIBRARIES)
    target_precompile_headers(tessera_${name} PRIVATE <torch/types.h>)
  endif()
  set_property(GLOBAL APPEND PROPERTY TESSERA_ROOMS ${name})
endfunction()

# tessera_instruction_sets(<target> <file>.isa.cpp...): builds each file once per instruction set.
# Inside, TESSERA_ISA names the namespace (avx2, avx512, amx) and TESSERA_VECTOR_BYTES the width.
function(tessera_instruction_sets target)
  if(NOT ARGN)
    return()
  endif()
  set(flags_avx2 -mavx2 -mfma -mf16c)
  set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  # AMX: the matrix products in bfloat16 on the tile unit, the rest as AVX-512.
  set(flags_amx ${flags_avx512} -mavx512bf16 -mamx-tile -mamx-bf16 -DTESSERA_AMX)
  set(bytes_avx2 32)
  set(bytes_amx 64)
  set(bytes_avx512 64)
  foreach(isa avx2 avx512 amx)
    add_library(${target}_${isa} OBJECT ${ARGN})
    target_include_directories(${target}_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(${target}_${isa} PRIVATE -O3 -ffp-contract=fast ${flags_${isa}})
    target_compile_definitions(${target}_${isa} PRIVATE
      TESSERA_ISA=${isa} TESSERA_VECTOR_BYTES=${bytes_${isa}})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
  endforeach()
endfunction()
