#include "python/stores/open_store.h"

#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/store/sqlite.h"

namespace tessera::python {
namespace {

/// Whether the store is still as this reader sees it. A ledger that cannot be opened is that of the
/// store which this one was rebuilt as, or the next reader says what is wrong.
bool is_current(const store::MemoStore& reader) {
  try {
    const store::Ledger now = reader.folder().open_ledger(store::sqlite::Access::kRead);
    return now.state() == reader.ledger().state();
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

OpenStore::OpenStore(const std::filesystem::path& folder, std::function<bool()> interrupts)
    : folder_(std::filesystem::absolute(folder)),
      interrupts_(std::move(interrupts)),
      process_(::getpid()) {
  open_reader();
}

void OpenStore::open_reader() {
  reader_ = std::make_unique<store::MemoStore>(folder_);
  reader_->interrupt_when(interrupts_);
}

/// In a child of the process that opened them: to use or to end the parent's reader and writer here
/// would change its files behind its back, so they are never ended.
void OpenStore::leave_to_parent() {
  if (process_ == ::getpid()) return;
  process_ = ::getpid();
  static_cast<void>(reader_.release());
  static_cast<void>(writer_.release());
}

void OpenStore::check_open() const {
  check_argument(!closed_, "the store {} is closed; open it again", folder_.native());
}

void OpenStore::read(const std::function<void(const store::MemoStore&)>& use) {
  const Turn turn(turns_);
  leave_to_parent();
  check_open();
  end_edits();
  if (reader_ && !is_current(*reader_)) reader_.reset();
  if (!reader_) open_reader();
  use(*reader_);
}

void OpenStore::edit(const std::function<void(store::MemoWriter&)>& use) {
  const Turn turn(turns_);
  leave_to_parent();
  check_open();
  reader_.reset();  // else it would keep forgotten text from being erased
  const bool is_new = !writer_;
  if (is_new) writer_ = std::make_unique<store::MemoWriter>(folder_);
  const int64_t before = writer_->ledger().last_change();
  try {
    use(*writer_);
  } catch (...) {
    const store::Ledger& ledger = writer_->ledger();
    if (is_new && ledger.last_change() == before && !ledger.erasure_pending()) writer_.reset();
    throw;
  }
}

void OpenStore::alone(const std::function<void(const std::filesystem::path&)>& use) {
  const Turn turn(turns_);
  leave_to_parent();
  check_open();
  end_edits();
  reader_.reset();
  use(folder_);
}

void OpenStore::end_edits() {
  if (!writer_) return;
  writer_->checkpoint();
  writer_.reset();
}

void OpenStore::close() {
  const Turn turn(turns_);
  leave_to_parent();
  closed_ = true;
  reader_.reset();
  end_edits();
}

}  // namespace tessera::python
