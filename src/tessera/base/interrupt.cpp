#include "tessera/base/interrupt.h"

#include <array>
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

constexpr std::array kSignals = {SIGINT, SIGTERM};
std::array<struct sigaction, kSignals.size()> before;  // what the application does with them

extern "C" void request_interrupt(int) {
  requested = true;
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);  // the next one ends the program
}

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(mutex);
  if (guards++ > 0) return;
  requested = false;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before[i]);
    std::signal(kSignals[i], request_interrupt);
  }
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(mutex);
  if (--guards > 0) return;
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
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
