// The fuzz targets take no products; the loops that take them are compiled by GCC alone.
#include <cstdlib>

#include "tessera/memo/detail/outer_products.h"

namespace tessera::memo {

void add_outer_products(const SignRows&, const SignRows&, int, int32_t*) {
  std::abort();
}

void add_outer_products(std::span<const int8_t>, std::span<const int8_t>, int64_t, int64_t, int,
                        int32_t*) {
  std::abort();
}

template <typename Entry>
void read_outer_products(std::span<const int8_t>, const Entry*, int64_t, int64_t, float*) {
  std::abort();
}
template void read_outer_products(std::span<const int8_t>, const int16_t*, int64_t, int64_t,
                                  float*);
template void read_outer_products(std::span<const int8_t>, const int32_t*, int64_t, int64_t,
                                  float*);

}  // namespace tessera::memo
