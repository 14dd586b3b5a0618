# Run by ctest; see CMakeLists.txt beside it. Every example states in its first comment what it
# prints, and is held against it.
cmake_minimum_required(VERSION 3.25)
set(WORK ${BUILD}/install_test)
set(PREFIX ${WORK}/prefix)
file(REMOVE_RECURSE ${PREFIX} ${WORK}/run)

# run(<what> <variable> <command>...): the command's standard output; its failure is the test's.
function(run what variable)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE errors WORKING_DIRECTORY ${SOURCE})
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what}: exit status ${status}\n${output}\n${errors}")
  endif()
  message(STATUS "${what}: done")
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

function(expect_equal what found expected)
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "${what}\n-- found:\n${found}\n-- expected:\n${expected}")
  endif()
endfunction()

# The lines between "// Expected output:" and the next line that is no indented comment.
function(expected_output file variable)
  file(READ ${file} text)
  string(REGEX MATCH "// Expected output:\n((//   [^\n]*\n)+)" found "${text}")
  if(NOT found)
    message(FATAL_ERROR "${file} does not state its expected output")
  endif()
  string(REPLACE "//   " "" lines "${CMAKE_MATCH_1}")
  set(${variable} "${lines}" PARENT_SCOPE)
endfunction()

run("install" ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})

# Only libtessera.so needs LibTorch, and nothing of the laboratory or the server is in either.
find_program(LDD ldd REQUIRED)
find_program(NM nm REQUIRED)
run("ldd" needs ${LDD} ${PREFIX}/lib/libtessera_store.so)
if(needs MATCHES "libtorch|libc10|not found")
  message(FATAL_ERROR "libtessera_store.so needs\n${needs}")
endif()
run("ldd" needs ${LDD} ${PREFIX}/lib/libtessera.so)
if(NOT needs MATCHES "libtorch_cpu.*" OR NOT needs MATCHES "${PREFIX}/[^ ]*libtessera_store" OR
   needs MATCHES "not found")
  message(FATAL_ERROR "libtessera.so needs\n${needs}")
endif()
foreach(library tessera tessera_store)
  run("nm" symbols ${NM} -DC --defined-only ${PREFIX}/lib/lib${library}.so)
  string(REGEX MATCH "tessera::(task|stm_study|memory_mosaics_study|memo_study|benchmark_study|scaling_laws|serve|cli)::[^\n]*|tessera::(Lstm|RetNet|GatedDeltaNet|Ntm|Dnc)[^\n]*"
         found "${symbols}")
  if(found)
    message(FATAL_ERROR "lib${library}.so holds ${found}")
  endif()
endforeach()

# The installed headers are those that docs/library.md lists.
file(GLOB_RECURSE headers RELATIVE ${PREFIX}/include ${PREFIX}/include/tessera/*.h)
file(STRINGS ${SOURCE}/docs/library.md listed REGEX "^\\| `[^`]+\\.h` \\|")
list(TRANSFORM listed REPLACE "^\\| `([^`]+)`.*" "tessera/\\1")
list(SORT headers)
list(SORT listed)
expect_equal("installed headers" "${headers}" "${listed}")

# The memory of documents alone, where no LibTorch is found.
file(CONFIGURE OUTPUT ${WORK}/store/CMakeLists.txt @ONLY CONTENT [[
cmake_minimum_required(VERSION 3.25)
project(tessera_store_alone LANGUAGES CXX)
set(TESSERA_TORCH_ROOT /nowhere)
find_package(Tessera REQUIRED COMPONENTS store)
add_executable(memorise_text @SOURCE@/examples/memorise_text.cpp)
target_link_libraries(memorise_text PRIVATE Tessera::tessera_store)
if(TARGET tessera_torch)
  message(FATAL_ERROR "the component store has looked for LibTorch")
endif()
]])
run("configure" ignored ${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/examples -B ${WORK}/examples
    -D CMAKE_PREFIX_PATH=${PREFIX} -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_CXX_FLAGS=${CXX_FLAGS})
run("build" ignored ${CMAKE_COMMAND} --build ${WORK}/examples --target stream_text)
run("configure" ignored ${CMAKE_COMMAND} -G Ninja -S ${WORK}/store -B ${WORK}/build_store
    -D CMAKE_PREFIX_PATH=${PREFIX} -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_CXX_FLAGS=${CXX_FLAGS})
run("build" ignored ${CMAKE_COMMAND} --build ${WORK}/build_store)
run("memorise_text" printed ${WORK}/build_store/memorise_text)
expected_output(${SOURCE}/examples/memorise_text.cpp expected)
expect_equal("memorise_text prints" "${printed}" "${expected}")

foreach(example kernel_smoothing associative_recall)
  run("${example}" printed ${BUILD}/example_${example})
  expected_output(${SOURCE}/examples/${example}.cpp expected)
  expect_equal("${example} prints" "${printed}" "${expected}")
endforeach()

# The installed program finds its verbs, trains, and writes what the example writes; its pages are there.
foreach(page man/man1/tessera-memo-recall.1.gz bash-completion/completions/tessera
        zsh/vendor-completions/_tessera fish/vendor_completions.d/tessera.fish)
  if(NOT EXISTS ${PREFIX}/share/${page})
    message(FATAL_ERROR "share/${page} is not installed")
  endif()
endforeach()
set(program ${PREFIX}/bin/tessera)
run("train" ignored ${program} train examples/configs/tiny.toml --set train.steps=20
    --set train.warmup_steps=5 --set data.text=docs/references.md --set data.vocabulary=300
    --out ${WORK}/run)
set(prompt "And the king said")
run("generate" text ${program} generate --model ${WORK}/run/model --prompt ${prompt}
    --max-tokens 30 --temperature 0 --ignore-end)
run("stream_text" printed ${WORK}/examples/stream_text ${WORK}/run/model ${prompt})
expect_equal("stream_text prints" "${printed}" "${text}by hand: the same 30 tokens\n")
run("the model that comes with it" packaged ${program} generate --prompt "Once upon a time" --max-tokens 0)
expect_equal("generate prints" "${packaged}" "Once upon a time\n")

# Python finds the package and its libraries.
if(PYTHON)
  string(CONCAT script "import tessera\n"
         "answer = tessera.load('${WORK}/run/model').generate(\n"
         "    '${prompt}', max_tokens=30, temperature=0, ignore_end=True)\n"
         "print(answer.text)")
  run("import tessera" printed ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
      PYTHONPATH=${PREFIX}/lib/python3/dist-packages ${PYTHON} -c "${script}")
  expect_equal("tessera.load(...).generate(...) writes" "${prompt}${printed}" "${text}")
endif()

# An example without CMake, by the flags of pkg-config; here it includes every installed header.
find_program(PKG_CONFIG pkg-config REQUIRED)
foreach(kind cflags libs)
  run("pkg-config" flags ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${PREFIX}/lib/pkgconfig
      ${PKG_CONFIG} --${kind} tessera)
  separate_arguments(${kind} UNIX_COMMAND "${flags}")
endforeach()
separate_arguments(build_flags UNIX_COMMAND "${CXX_FLAGS}")
list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE includes)
file(WRITE ${WORK}/every_header.h ${includes})
run("compile by hand" ignored ${LAUNCHER} ${COMPILER} ${build_flags} ${cflags}
    -include ${WORK}/every_header.h -c examples/two_memories.cpp -o ${WORK}/by_hand.o)
run("link by hand" ignored ${COMPILER} ${build_flags} ${WORK}/by_hand.o -o ${WORK}/by_hand ${libs})
run("by hand" printed ${WORK}/by_hand)
expected_output(${SOURCE}/examples/two_memories.cpp expected)
expect_equal("two_memories by hand prints" "${printed}" "${expected}")
