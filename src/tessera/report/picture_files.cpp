#include "tessera/report/picture_files.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

/// Runs rsvg-convert without its output, in a process group of its own, so that Ctrl-C does not end
/// it in the middle of a picture. Whether it was there and ended well.
bool rsvg_convert(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "rsvg-convert");
  std::vector<char*> words;
  for (auto& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failure =
      ::posix_spawnp(&child, words.front(), &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

void require_picture_converter() {
  if (!rsvg_convert({"--version"}))
    throw UsageError("PNG and PDF pictures need the program rsvg-convert (Debian: librsvg2-bin)");
}

void convert_picture(const std::filesystem::path& svg, PictureFormat format) {
  const std::string extension(config::enum_name(format));
  std::filesystem::path picture = svg;
  picture.replace_extension(extension);
  const std::string unfinished = picture.native() + ".new";
  try {
    if (!rsvg_convert(
            {"--format", extension, "--zoom", "2", "--output", unfinished, "--", svg.native()}))
      throw SystemError(picture.native(), "write", EIO);
    replace_file(picture, unfinished);
  } catch (const SystemError&) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    throw;
  }
}

}  // namespace tessera
