#include "tessera/base/interrupt.h"

#include <csignal>

#include "tessera/base/error.h"

namespace tessera {
namespace {

volatile std::sig_atomic_t requested = 0;
int guards = 0;
bool (*heard_otherwise)() = nullptr;

void let_signals_end_the_program() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

extern "C" void request_interrupt(int) {
  requested = 1;
  let_signals_end_the_program();
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (guards++ > 0) return;
  requested = 0;
  std::signal(SIGINT, request_interrupt);
  std::signal(SIGTERM, request_interrupt);
}

InterruptGuard::~InterruptGuard() {
  if (--guards > 0) return;
  let_signals_end_the_program();
  requested = 0;
}

bool InterruptGuard::interrupted() {
  return requested != 0 || (heard_otherwise != nullptr && heard_otherwise());
}

void InterruptGuard::also_ask(bool (*heard)()) {
  heard_otherwise = heard;
}

void InterruptGuard::stop_if_interrupted(const std::string& message) {
  if (interrupted()) throw Interrupted(message);
}

}  // namespace tessera
