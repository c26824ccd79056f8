// shards.cpp: the team by itself, for its tests.
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

}  // namespace

void bind_team(nb::module_& m) {
    m.def("each_shard", &each_shard, nb::arg("n"), nb::arg("threads"), nb::arg("run"));
    m.def("delay_shards", &delay_shards, nb::arg("microseconds"));
}

}  // namespace dyads
