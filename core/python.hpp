// python.hpp: what the bindings of every kernel family share.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "team.hpp"

namespace dyads {

namespace nb = nanobind;

// A C-contiguous NumPy array, never copied or converted. With `const`, read-only arrays are taken too.
template <class T, int dimensions>
using Array = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

// A field of a NamedTuple. Arrays must be of this very type, so that what is written reaches the caller.
template <class T>
T field(const nb::object& tuple, const char* name) {
    return nb::cast<T>(nb::object(tuple.attr(name)), false);
}

template <class T>
T number_field(const nb::object& tuple, const char* name) {
    return nb::cast<T>(nb::object(tuple.attr(name)));
}

// Runs every shard without Python's lock; Ctrl-C ends it as KeyboardInterrupt.
inline void run_shards(int64_t n, int threads, const Shard& shard) {
    const nb::gil_scoped_release released;
    for_each_shard(n, threads, shard, [] {
        const nb::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
}

}  // namespace dyads
