// Only in builds with the thread sanitizer. That of GCC 12 does not know pthread_mutex_clocklock(),
// which std::timed_mutex::try_lock_for() calls: it would report what such a mutex guards as races.
// This one calls what it knows.

#include <pthread.h>

#include <ctime>

extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* until) noexcept {
  constexpr long kSecond = 1'000'000'000;  // in nanoseconds
  timespec now = {}, deadline = {};
  ::clock_gettime(clock, &now);
  ::clock_gettime(CLOCK_REALTIME, &deadline);
  const long nanoseconds = deadline.tv_nsec + until->tv_nsec - now.tv_nsec + kSecond;  // above 0
  deadline.tv_sec += until->tv_sec - now.tv_sec - 1 + nanoseconds / kSecond;
  deadline.tv_nsec = nanoseconds % kSecond;
  return ::pthread_mutex_timedlock(mutex, &deadline);
}
