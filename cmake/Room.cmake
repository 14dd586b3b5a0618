# A room is a folder of a house, as src/tessera/base or src/lab/study: one static library room_<name>,
# its headers, and its tests in tests/<name>, those of other houses than the library in
# tests/<house>/<name>. Its files are compiled twenty at a time, in half the time, and so are its
# tests: what stands in an anonymous namespace must be the only one of that name in the room, or in its tests.

# tessera_room(<name> [TENSORS] [COLD] [ROOMS <room>...] [LIBRARIES <target>...])
#   TENSORS    the room is built on LibTorch
#   COLD       no loop of the room takes long: a release compiles it with -O1, a quarter quicker
#   ROOMS      the rooms it may include; what those may include comes with them
#   LIBRARIES  the foreign libraries it uses
function(tessera_room name)
  cmake_parse_arguments(ARG "TENSORS;COLD" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(library_)?main\\.cpp$|\\.isa\\.cpp$")
  add_library(room_${name} STATIC)
  target_include_directories(room_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  set(libraries ${ARG_LIBRARIES})  # with those of the rooms below, for tests/house
  foreach(room IN LISTS ARG_ROOMS)
    get_property(below GLOBAL PROPERTY TESSERA_LIBRARIES_OF_${room})
    list(APPEND libraries ${below})
  endforeach()
  set_property(GLOBAL PROPERTY TESSERA_LIBRARIES_OF_${name} ${libraries})
  file(WRITE ${PROJECT_BINARY_DIR}/rooms/${name} "${libraries}")
  list(TRANSFORM ARG_ROOMS PREPEND room_)
  target_link_libraries(room_${name} PUBLIC ${ARG_ROOMS} ${ARG_LIBRARIES})
  if(ARG_COLD)
    target_compile_options(room_${name} PRIVATE "$<$<CONFIG:Release>:${TESSERA_COLD_OPTIONS}>")
  endif()
  tessera_sources(room_${name} ${sources})
  set_property(GLOBAL APPEND PROPERTY TESSERA_ROOMS ${name})
  set_property(GLOBAL PROPERTY TESSERA_TENSORS_OF_${name} ${ARG_TENSORS})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/${name})
  string(REGEX REPLACE "^tessera/" "" folder ${folder})
  set_property(GLOBAL PROPERTY TESSERA_FOLDER_OF_${name} ${folder})
endfunction()

# tessera_instruction_sets(<room> [FOLDER <folder>] <set>...): builds each *.isa.cpp of <room>/cpu, or
# of that folder below it, once per instruction set. Inside, TESSERA_ISA names the namespace and
# TESSERA_VECTOR_BYTES the width of its vectors. Processors other than x86-64 have the baseline alone.
function(tessera_instruction_sets room)
  cmake_parse_arguments(ARG "" "FOLDER" "" ${ARGN})
  set(flags_avx2 -mavx2 -mfma -mf16c)
  set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  # AVX-512 since Ice Lake and Zen 4: also dot products of bytes and counts of bits.
  set(flags_avx512vnni ${flags_avx512} -mavx512vnni -mavx512vpopcntdq)
  # Products in bfloat16: AVX-512 since Sapphire Rapids and Zen 4, and on AMX's tile unit, which also has those
  # of bytes.
  set(flags_avx512bf16 ${flags_avx512vnni} -mavx512bf16 -DTESSERA_BFLOAT16_PRODUCTS)
  set(flags_amx ${flags_avx512bf16} -mamx-tile -mamx-bf16 -mamx-int8 -DTESSERA_AMX)
  set(bytes_baseline 16)
  set(bytes_avx2 32)
  set(bytes_avx512 64)
  set(bytes_avx512vnni 64)
  set(bytes_avx512bf16 64)
  set(bytes_amx 64)
  string(JOIN "/" folder ${room} cpu ${ARG_FOLDER})
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.isa.cpp)
  if(NOT TESSERA_X86)
    list(FILTER ARG_UNPARSED_ARGUMENTS INCLUDE REGEX "^baseline$")
  endif()
  foreach(isa IN LISTS ARG_UNPARSED_ARGUMENTS)
    string(JOIN "_" library room ${room} ${ARG_FOLDER} ${isa})
    add_library(${library} OBJECT ${files})
    target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    # A product and its sum become one instruction everywhere: loops of equal sums then agree in their
    # bits. GCC 14 leaves them apart in some loops otherwise.
    target_compile_options(${library} PRIVATE -O3 -ffp-contract=fast
      $<$<CXX_COMPILER_ID:GNU>:--param=avoid-fma-max-bits=0> ${flags_${isa}})
    target_compile_definitions(${library} PRIVATE
      TESSERA_ISA=${isa} TESSERA_VECTOR_BYTES=${bytes_${isa}})
    target_sources(room_${room} PRIVATE $<TARGET_OBJECTS:${library}>)
  endforeach()
endfunction()

# tessera_shared_library(<target> ROOMS <room>...): these rooms, whole, for C++ developers.
function(tessera_shared_library target)
  cmake_parse_arguments(ARG "" "" "ROOMS" ${ARGN})
  add_library(${target} SHARED ${PROJECT_SOURCE_DIR}/cmake/empty.cpp)
  list(TRANSFORM ARG_ROOMS PREPEND room_ OUTPUT_VARIABLE rooms)
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
  add_dependencies(${target} ${rooms})
  target_link_libraries(${target} PRIVATE
    "-Wl,--whole-archive" ${archives} "-Wl,--no-whole-archive" "-Wl,--no-undefined")
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:include>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR} INSTALL_RPATH "$ORIGIN")
endfunction()
