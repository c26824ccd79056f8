// yard.cpp: what a machine can do, for the benchmarks. Every entry does a counted piece of work, which Python times.
#include "gram.hpp"
#include "python.hpp"

namespace dyads {
namespace {

// Keeps the compiler from leaving out what is not used, and from knowing what x is.
inline void keep(Lanes& x) {
#if defined(__SSE2__)
    asm volatile("" : "+v"(x));
#else
    asm volatile("" : "+w"(x));
#endif
}

// `rounds` times 24 chains of multiply-adds that do not wait for one another; gives back the operations.
int64_t fma_chains(int64_t rounds) {
    constexpr int chains = lanes == 16 ? 24 : 12;
    Lanes sum[chains], factor = formula::all<Lanes>(0.999F), more = formula::all<Lanes>(1e-3F);
#pragma GCC unroll 24
    for (int c = 0; c < chains; c++) sum[c] = formula::all<Lanes>(static_cast<float>(c));
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 24
        for (int c = 0; c < chains; c++) sum[c] = mul_add(sum[c], factor, more);
        keep(factor);
    }
#pragma GCC unroll 24
    for (int c = 0; c < chains; c++) keep(sum[c]);
    return rounds * chains * lanes * 2;
}

// a = b + 1.5 c; gives back the bytes read and written.
int64_t stream(Array<float, 1> a, Array<const float, 1> b, Array<const float, 1> c) {
    const auto n = static_cast<int64_t>(a.shape(0)) / lanes * lanes;
    for (int64_t i = 0; i < n; i += lanes)
        store(a.data() + i, mul_add(load<Lanes>(c.data() + i), formula::all<Lanes>(1.5F), load<Lanes>(b.data() + i)));
    return 3 * 4 * n;
}

// Reads the rows of a table in this order, eight ahead asked for; gives back the bytes.
int64_t gather(Array<const int32_t, 1> order, Array<const float, 2> table) {
    const auto n = static_cast<int64_t>(order.shape(0)), k = static_cast<int64_t>(table.shape(1));
    Lanes sum[4] = {};
    for (int64_t i = 0; i < n; i++) {
        const float* const row = table.data() + order.data()[i] * k;
        const float* const next = table.data() + order.data()[std::min(i + 8, n - 1)] * k;
        for (int64_t s = 0; s < k; s += 16) __builtin_prefetch(next + s);
        for (int64_t s = 0; s + lanes <= k; s += lanes) sum[s / lanes % 4] += load<Lanes>(row + s);
        sum[0] += k < lanes ? load_first<Lanes>(row, k) : load<Lanes>(row + k - lanes);
    }
    Lanes all = sum[0] + sum[1] + (sum[2] + sum[3]);
    keep(all);
    return n * k * 4;
}

// The Gram phase alone: `rounds` panels from the first-level cache into a triangle of K + 1 rows; gives back the
// multiply-adds and additions that were executed, whole register blocks counted.
int64_t gram_panels(int64_t n_factors, int64_t rounds) {
    const int64_t n = n_factors + 1, stride = gram_stride<Lanes>(n), most = panel_rows(stride);
    Scratch<float> memory;
    float *const c = memory.get(stride * (n + most + 1)), *const panel = c + stride * n;
    std::fill_n(c, stride * (n + most + 1), 0.25F);
    for (int64_t r = 0; r < rounds; r++) {
        add_gram<Lanes>(Panels<float>{panel, panel, most, stride}, n, c, stride);
    }
    int64_t vectors = 0;
    for (int64_t r = 0; r < n; r++) vectors += r / lanes + 1;
    return rounds * most * vectors * lanes * 2;
}

}  // namespace

void bind_yard(nb::module_& m) {
    const auto released = nb::call_guard<nb::gil_scoped_release>();
    m.def("fma_chains", &fma_chains, released);
    m.def("stream", &stream, nb::arg().noconvert(), nb::arg(), nb::arg(), released);
    m.def("gather", &gather, released);
    m.def("gram_panels", &gram_panels, released);
}

}  // namespace dyads
