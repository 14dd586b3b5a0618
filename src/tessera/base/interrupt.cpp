#include "tessera/base/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

#include "tessera/base/error.h"

namespace tessera {
namespace {

std::atomic<bool> requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal's handler may set it");
std::mutex mutex;  // of the number of guards, and of what is done with the signals
int guards = 0;
bool (*heard_otherwise)() = nullptr;

void let_signals_end_the_program() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

extern "C" void request_interrupt(int) {
  requested = true;
  let_signals_end_the_program();
}

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(mutex);
  if (guards++ > 0) return;
  requested = false;
  std::signal(SIGINT, request_interrupt);
  std::signal(SIGTERM, request_interrupt);
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(mutex);
  if (--guards > 0) return;
  let_signals_end_the_program();
  requested = false;
}

bool InterruptGuard::interrupted() {
  return requested || (heard_otherwise != nullptr && heard_otherwise());
}

void InterruptGuard::also_ask(bool (*heard)()) {
  heard_otherwise = heard;
}

void InterruptGuard::stop_if_interrupted(const std::string& message) {
  if (interrupted()) throw Interrupted(message);
}

}  // namespace tessera
