#include "tessera/base/interrupt.h"

#include <csignal>

namespace tessera {
namespace {

volatile std::sig_atomic_t requested = 0;

extern "C" void request_interrupt(int signal_number) {
  requested = 1;
  std::signal(signal_number, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  requested = 0;
  std::signal(SIGINT, request_interrupt);
  std::signal(SIGTERM, request_interrupt);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::interrupted() {
  return requested != 0;
}

}  // namespace tessera
