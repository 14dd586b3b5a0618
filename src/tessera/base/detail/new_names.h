#pragma once

#include <filesystem>
#include <string>

namespace tessera {

/// The name of a file or folder until it is whole, for mkostemp() and mkdtemp():
/// "PATH.unfinished-XXXXXX".
std::string unfinished_name(const std::filesystem::path& path);

/// Locks such a file or folder until the descriptor is closed, so that remove_unfinished() can tell
/// that its process lives. False where another process is removing it already, as it could not tell
/// before; then the descriptor is closed.
bool lock_unfinished(int descriptor);

/// Makes the name that a file or folder has now durable. Where that fails nothing is thrown: all
/// see it there already.
void sync_name(const std::filesystem::path& path);

}  // namespace tessera
