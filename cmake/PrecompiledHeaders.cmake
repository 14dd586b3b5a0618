# Headers that many files read, parsed once for each kind of target: `tensor` on LibTorch and
# `plain` without it, both also with GoogleTest. A precompiled header replaces no #include: every
# file still names what it uses.
set(plain_headers <fmt/format.h> <nlohmann/json.hpp> <algorithm> <filesystem> <functional> <map>
    <memory> <optional> <span> <string> <vector>)
set(tensor_headers ${plain_headers} <ATen/ATen.h> <torch/csrc/autograd/custom_function.h>
    <torch/nn/modules/linear.h> <torch/nn/modules/container/modulelist.h>)
set(test_headers <gmock/gmock.h> <gtest/gtest.h>)
set(plain_libraries fmt::fmt nlohmann_json::nlohmann_json)
set(tensor_libraries ${plain_libraries} tessera_torch)
set(test_libraries GTest::gtest GTest::gmock)

# tessera_add_precompiled_headers(<name> HEADERS <header>... LIBRARIES <target>...)
function(tessera_add_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES" ${ARGN})
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled_headers.cpp)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# tessera_precompiled_headers(<target> plain|tensor|plain_test|tensor_test)
function(tessera_precompiled_headers target kind)
  if(NOT TESSERA_PRECOMPILE_HEADERS)
    return()
  endif()
  set(name tessera_${kind}_headers)
  if(NOT TARGET ${name})
    string(REPLACE "_test" "" base ${kind})
    if(kind STREQUAL base)
      tessera_add_precompiled_headers(${name} HEADERS ${${base}_headers}
        LIBRARIES ${${base}_libraries})
    else()
      tessera_add_precompiled_headers(${name} HEADERS ${${base}_headers} ${test_headers}
        LIBRARIES ${${base}_libraries} ${test_libraries})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()
