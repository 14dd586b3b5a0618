// The program `tessera`: a thin executable that puts its house in order before any library with
// threads is loaded, then loads the verbs.

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <string>

#include "program/cli/library_environment.h"

namespace {

std::string executable_folder() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  const std::string whole(path, length > 0 ? length : 0);
  return whole.substr(0, whole.rfind('/'));
}

/// Whether the command line names a verb that needs no LibTorch (cli/program.h), or asks for the
/// version alone. Its library is loaded in a tenth of the time; the other one has it too.
bool is_light(int argc, char** argv) {
  const int verb = argc > 1 && std::string(argv[1]) == "--threads" ? 3 : 1;
  const std::string name = verb < argc ? argv[verb] : "";
  if (name == "--version") return verb + 1 == argc;
  return name == "data" || name == "memo" || name == "mcp" || name == "plan" || name == "tokenizer";
}

/// Libraries lie beside the program in a build folder and in ../lib/tessera where it is installed.
void* load(const std::string& library) {
  const std::string folder = executable_folder();
  for (const char* place : {"/", "/../lib/tessera/"}) {
    const std::string path = folder + place + library;
    if (::access(path.c_str(), R_OK) == 0) return ::dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  }
  return nullptr;
}

/// Memory that stands for a file which another process has shortened cannot be read.
void end_without_a_mapped_file(int) {
  constexpr char kMessage[] =
      "tessera: a mapped file cannot be read: another process shortened it, or its disk failed\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  ::_exit(3);  // bad data
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGBUS, end_without_a_mapped_file);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit on file sizes is an error, no crash
  std::signal(SIGCHLD, SIG_DFL);  // whoever ignored it would ignore how pdftotext ended, too
  tessera::cli::set_library_environment();
  const char* library = is_light(argc, argv) ? "libtessera_cli.so" : "libtessera_model_cli.so";
  void* verbs = load(library);
  using Run = int (*)(int, char**);
  const Run run = verbs ? reinterpret_cast<Run>(::dlsym(verbs, "tessera_run")) : nullptr;
  if (run == nullptr) {
    const char* cause = ::dlerror();
    std::fprintf(stderr, "tessera: cannot load %s: %s\n", library,
                 cause ? cause : "it is not beside the program");
    return 1;
  }
  const int status = run(argc, argv);
  std::fflush(nullptr);
  ::_exit(status);  // to take LibTorch's tables apart takes a sixth of a short command's time
}
