# LibTorch with its BLAS and OpenMP as the imported targets tessera_torch and tessera_blas. Read by
# the build and, where Tessera is installed, by find_package(Tessera).
#
# Without TorchConfig.cmake: that one probes for CUDA and leaves the choice of BLAS open, which costs
# a factor of 50 when the reference BLAS is found first. TESSERA_TORCH_ROOT may name another LibTorch
# (a wheel's torch/ folder).

# $<LINK_LIBRARY:KEPT,…>: libraries that are loaded even where no symbol of them is used by name.
set(CMAKE_LINK_LIBRARY_USING_KEPT
    "LINKER:--push-state,--no-as-needed" "<LINK_ITEM>" "LINKER:--pop-state")
set(CMAKE_LINK_LIBRARY_USING_KEPT_SUPPORTED TRUE)

if(TARGET tessera_torch)
  return()  # another folder of the build has it
endif()

set(TESSERA_TORCH_ROOT "/usr" CACHE PATH "Folder with LibTorch's include/ and lib/")
find_package(OpenMP REQUIRED)
find_path(ATEN_INCLUDE ATen/ATen.h REQUIRED HINTS ${TESSERA_TORCH_ROOT} PATH_SUFFIXES include)
# A wheel's include/ also holds other libraries' headers (fmt, oneDNN, pybind11), of versions of its
# own, which may not come before Debian's: only LibTorch's own folders are seen.
if(NOT ATEN_INCLUDE STREQUAL "/usr/include")
  set(torch_include ${CMAKE_BINARY_DIR}/libtorch_headers)
  file(MAKE_DIRECTORY ${torch_include})
  foreach(folder ATen c10 caffe2 torch)
    file(CREATE_LINK ${ATEN_INCLUDE}/${folder} ${torch_include}/${folder} SYMBOLIC)
  endforeach()
else()
  set(torch_include ${ATEN_INCLUDE})
endif()
find_library(TORCH_LIBRARY torch REQUIRED HINTS ${TESSERA_TORCH_ROOT}/lib)
find_library(TORCH_CPU_LIBRARY torch_cpu REQUIRED HINTS ${TESSERA_TORCH_ROOT}/lib)
find_library(C10_LIBRARY c10 REQUIRED HINTS ${TESSERA_TORCH_ROOT}/lib)
# Where LibTorch has them, its operations on a GPU. No symbol of them is used by name.
find_library(TORCH_CUDA_LIBRARY torch_cuda HINTS ${TESSERA_TORCH_ROOT}/lib)
find_library(C10_CUDA_LIBRARY c10_cuda HINTS ${TESSERA_TORCH_ROOT}/lib)
set(torch_cuda_libraries ${TORCH_CUDA_LIBRARY} ${C10_CUDA_LIBRARY})
list(FILTER torch_cuda_libraries EXCLUDE REGEX "-NOTFOUND$")

# The OpenMP build of OpenBLAS by path: the pthread build fights with ATen's own OpenMP threads.
find_file(OPENBLAS_LIBRARY libopenblas.so.0 REQUIRED
          HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp NO_DEFAULT_PATH)
get_filename_component(OPENBLAS_FOLDER ${OPENBLAS_LIBRARY} DIRECTORY)

add_library(tessera_blas INTERFACE IMPORTED GLOBAL)
target_link_libraries(tessera_blas INTERFACE "$<LINK_LIBRARY:KEPT,${OPENBLAS_LIBRARY}>")
target_link_options(tessera_blas INTERFACE "LINKER:-rpath,${OPENBLAS_FOLDER}")

add_library(tessera_torch INTERFACE IMPORTED GLOBAL)
target_include_directories(tessera_torch INTERFACE
  ${torch_include}/torch/csrc/api/include ${torch_include})
# Before LibTorch stand the C++ library, since wheels hold a part of another one (std::filesystem), and
# mixed the two crash (PyTorch issue 133437); and OpenBLAS, to which its libblas.so.3 resolves then.
target_link_libraries(tessera_torch INTERFACE "$<LINK_LIBRARY:KEPT,stdc++>" tessera_blas
  "$<LINK_LIBRARY:KEPT,${torch_cuda_libraries}>"
  ${TORCH_LIBRARY} ${TORCH_CPU_LIBRARY} ${C10_LIBRARY} OpenMP::OpenMP_CXX)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tessera_torch INTERFACE "SHELL:-include ATen/core/ivalue.h")
endif()
