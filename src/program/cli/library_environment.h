#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "tessera/base/machine.h"

/// OpenMP and OpenBLAS read their environment once, when they are loaded; with the settings found
/// on many machines matrix products run at half speed. Each function sets some of it before that
/// and returns whether it has changed something. They stand in a header because a program that
/// links a room has loaded both libraries.
namespace tessera::cli {

/// OpenMP threads that spin while they wait starve each other on a busy machine; those that sleep
/// at once are woken too late for the next of many short loops. So they spin for some microseconds.
inline bool wait_briefly() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return false;
  ::setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/1);
  ::setenv("GOMP_SPINCOUNT", "2000", /*overwrite=*/0);
  return true;
}

/// One thread for each core, unless OMP_NUM_THREADS says otherwise. LibTorch does not see the cores
/// of every virtual machine and, told only when it is loaded, starts threads of its own twice,
/// which wait spinning.
inline bool use_all_cores() {
  const char* said = std::getenv("OMP_NUM_THREADS");
  const long threads = said != nullptr ? std::atol(said) : 0;
  const auto cores = std::thread::hardware_concurrency();
  if ((threads >= 1 && threads <= kMostThreads) || cores == 0) return false;
  ::setenv("OMP_NUM_THREADS", std::to_string(cores).c_str(), /*overwrite=*/1);
  return true;
}

/// An inherited OPENBLAS_CORETYPE may name kernels below what this processor has.
inline bool ignore_inherited_blas_kernels() {
  const char* inherited = std::getenv("OPENBLAS_CORETYPE");
  if (inherited == nullptr) return false;
  std::fprintf(stderr,
               "tessera: ignoring OPENBLAS_CORETYPE=%s for the best kernels of this processor "
               "(TESSERA_KEEP_BLAS_CORE=1 keeps it)\n",
               inherited);
  ::unsetenv("OPENBLAS_CORETYPE");
  return true;
}

/// OpenBLAS takes the kernels of 2004 for a processor that it does not know, as version 0.3.21 does
/// for Intel's since late 2023: a fifth of the speed. Names better ones there, for the processes
/// that this one starts, too. TESSERA_OPENBLAS is the library's path.
inline bool name_blas_kernels() {
#ifdef __x86_64__
  using namespace std::string_view_literals;
  void* blas = ::dlopen(TESSERA_OPENBLAS, RTLD_LAZY);
  if (blas == nullptr) return false;
  using Name = const char* (*)();
  const auto chosen = reinterpret_cast<Name>(::dlsym(blas, "openblas_get_corename"));
  if (chosen == nullptr || chosen() != "Prescott"sv || !__builtin_cpu_supports("avx2"))
    return false;  // and it stays loaded, as it soon would be
  ::dlclose(blas);
  const bool wide = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  ::setenv("OPENBLAS_CORETYPE", wide ? "SkylakeX" : "Haswell", /*overwrite=*/1);
  ::setenv("TESSERA_KEEP_BLAS_CORE", "1", /*overwrite=*/1);
  return true;
#else
  return false;
#endif
}

/// The best kernels, unless TESSERA_KEEP_BLAS_CORE says to keep those that the environment names.
inline bool use_best_blas_kernels() {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr &&
      std::getenv("TESSERA_KEEP_BLAS_CORE") != nullptr)
    return false;
  const bool ignored = ignore_inherited_blas_kernels();
  return name_blas_kernels() || ignored;
}

/// All of it.
inline bool set_library_environment() {
  const bool waits = wait_briefly(), threads = use_all_cores(), kernels = use_best_blas_kernels();
  return waits || threads || kernels;
}

}  // namespace tessera::cli
