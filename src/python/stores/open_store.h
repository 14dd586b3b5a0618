#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>

#include "python/binding/turns.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"

namespace tessera::python {

/// A store that is read and edited in turns, from any thread, one call at a time (Turn). Edits in a
/// row share a writer, and readings in a row a reader; a reader that others' edits have left behind
/// is replaced. After a fork() the child sees the store as any other process does: what was open is
/// the parent's.
class OpenStore {
 public:
  /// interrupts: asked while documents are read; where it is true, that ends with Interrupted.
  /// Throws DataError and SystemError as store::MemoStore.
  OpenStore(const std::filesystem::path& folder, std::function<bool()> interrupts);
  ~OpenStore() { leave_to_parent(); }

  /// Calls `use` with the store as it is now. Throws what it throws, and UsageError on a closed
  /// store.
  void read(const std::function<void(const store::MemoStore&)>& use);
  /// The same with a writer, which is open until the next reading or close(); where `use` throws
  /// and nothing was edited, no longer than before. Throws std::runtime_error while another process
  /// writes.
  void edit(const std::function<void(store::MemoWriter&)>& use);
  /// The same with its folder, while nothing of it is open here.
  void alone(const std::function<void(const std::filesystem::path&)>& use);
  /// Ends the edits: writes the matrix, and erases what was forgotten or replaced. May be called
  /// twice.
  void close();
  bool closed() const { return closed_; }

 private:
  void check_open() const;
  void end_edits();
  void open_reader();
  void leave_to_parent();

  const std::filesystem::path folder_;
  const std::function<bool()> interrupts_;
  Turns turns_;    // for what follows
  pid_t process_;  // that opened the next two
  std::unique_ptr<store::MemoStore> reader_;
  std::unique_ptr<store::MemoWriter> writer_;  // never beside the reader
  std::atomic<bool> closed_ = false;
};

}  // namespace tessera::python
