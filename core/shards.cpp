// shards.cpp: the team by itself, for its tests, and copies that it shares.
#include <algorithm>
#include <cstring>

#include "python.hpp"

namespace dyads {
namespace {

// Calls run(shard) for every shard; Python's lock is held only inside.
void each_shard(int64_t n, int threads, const nb::callable& run) {
    run_shards(n, threads, [&run](int64_t shard, Stop&) {
        const nb::gil_scoped_acquire held;
        run(shard);
    });
}

constexpr size_t copied_at_once = size_t{1} << 20;

// Fresh memory costs most where it is first touched, which several threads can do at once.
void copy_bytes(Array<uint8_t, 1> to, Array<const uint8_t, 1> from, int threads) {
    const size_t size = std::min(to.shape(0), from.shape(0));
    uint8_t* const out = to.data();
    const uint8_t* const in = from.data();
    const auto pieces = static_cast<int64_t>((size + copied_at_once - 1) / copied_at_once);
    run_shards(pieces, threads, [=](int64_t piece, Stop&) {
        const size_t first = static_cast<size_t>(piece) * copied_at_once;
        std::memcpy(out + first, in + first, std::min(copied_at_once, size - first));
    });
}

}  // namespace

void bind_team(nb::module_& m) {
    m.def("each_shard", &each_shard, nb::arg("n"), nb::arg("threads"), nb::arg("run"));
    m.def("copy_bytes", &copy_bytes, nb::arg("to").noconvert(), nb::arg("from").noconvert(), nb::arg("threads"));
    m.def("delay_shards", &delay_shards, nb::arg("microseconds"));
}

}  // namespace dyads
