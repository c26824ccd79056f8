// sbmf.cpp: the SBMF row kernel as Python calls it.
#include "sbmf.hpp"

#include <atomic>

#include "python.hpp"

namespace dyads {
namespace {

constexpr int64_t pack_step = 2048;  // rows that are packed at a time

std::atomic<int64_t> tile_most{0};  // 0: the rule

template <class Item>
Table<Item> pack(Scratch<Item>& memory, const nb::object& side, int threads) {
    const auto factors = field<Array<const Item, 2>>(side, "factors");
    const auto bias = field<Array<const Item, 1>>(side, "bias");
    const auto n = static_cast<int64_t>(factors.shape(0)), n_factors = static_cast<int64_t>(factors.shape(1));
    const int64_t stride = Table<Item>::stride_for(n_factors), room = Table<Item>::room(n, stride);
    Item* const data = memory.get(room);
    const Item *const from = factors.data(), *const biases = bias.data();
    run_shards((n + pack_step - 1) / pack_step, threads, [=](int64_t piece, Stop&) {
        pack_rows(data, stride, from, biases, n_factors, piece * pack_step, std::min(n, (piece + 1) * pack_step));
    });
    std::fill(data + n * stride, data + room, Item(0));
    return {data, n, stride};
}

Rows rows_of(const nb::object& csr) {
    const nb::object val = csr.attr("val");
    return {field<Array<const int64_t, 1>>(csr, "ptr").data(), field<Array<const int32_t, 1>>(csr, "idx").data(),
            val.is_none() ? nullptr : nb::cast<Array<const float, 1>>(val, false).data()};
}

// The prior of every coordinate, filled up with ones and zeros.
struct PriorArrays {
    std::vector<double> precision, pull;

    PriorArrays(const nb::object& shared, int64_t slots) : precision(slots + 4 * lanes, 1.0), pull(slots + 4 * lanes) {
        const auto mean = field<Array<const double, 1>>(shared, "mean");
        const auto given = field<Array<const double, 1>>(shared, "precision");
        for (int64_t s = 0; s < slots; s++) {
            precision[s] = given.data()[s];
            pull[s] = given.data()[s] * mean.data()[s];
        }
    }
};

nb::object as_array(const std::vector<double>& from) {
    auto* const copy = new std::vector<double>(from);
    const nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(copy->data(), {copy->size()}, owner));
}

// Every shard, then the wide rows one by one; sums in this order.
template <class V>
sbmf::Sums half_sweep(const sbmf::Half<V>& half, const int64_t* cuts, int64_t shards, int threads) {
    std::vector<sbmf::Sums> sums(shards, sbmf::Sums(half.slots()));
    run_shards(shards, threads, [&](int64_t s, Stop& stop) { half.shard(cuts[s], cuts[s + 1], sums[s], stop); });
    sbmf::Sums total(half.slots());
    for (const sbmf::Sums& one : sums) total.add(one);
    for (int64_t r = 0; r < half.n_rows; r++)
        if (half.is_wide(r))
            half.wide_row(r, total, [&](int64_t n, const Shard& part) { run_shards(n, threads, part); });
    return total;
}

template <class V>
nb::tuple run(const nb::object& csr, Array<const int64_t, 1> cuts, const nb::object& own, const nb::object& shared,
              const nb::object& at, int threads) {
    using Item = typename formula::Number<V>::Scalar;
    const auto factors = field<Array<Item, 2>>(own, "factors");
    const auto bias = field<Array<Item, 1>>(own, "bias");
    const auto n_factors = static_cast<int64_t>(factors.shape(1));
    Scratch<Item> memory;
    const PriorArrays prior(shared, n_factors + 1);
    const std::vector<Item> precision(prior.precision.begin(), prior.precision.end());
    const std::vector<Item> pull(prior.pull.begin(), prior.pull.end());
    const int64_t most = tile_most;
    const auto tau = number_field<double>(shared, "noise_precision");
    const At here{number_field<uint64_t>(at, "seed"), number_field<uint32_t>(at, "chain"),
                  number_field<uint32_t>(at, "tick")};
    const sbmf::Half<V> half{rows_of(csr),
                             static_cast<int64_t>(factors.shape(0)),
                             n_factors,
                             factors.data(),
                             bias.data(),
                             pack<Item>(memory, shared.attr("other"), threads),
                             static_cast<Item>(number_field<double>(shared, "offset")),
                             {precision.data(), pull.data(), static_cast<Item>(tau)},
                             {prior.precision.data(), prior.pull.data(), tau},
                             {here, number_field<uint32_t>(shared, "site"), 0},
                             number_field<bool>(shared, "biased") ? 0 : 1,
                             number_field<bool>(shared, "draw"),
                             most != 0 ? most : sbmf::tile_numbers(n_factors + 1)};
    const auto shards = static_cast<int64_t>(cuts.shape(0)) - 1;
    const sbmf::Sums sums = half_sweep(half, cuts.data(), shards, threads);
    return nb::make_tuple(as_array(sums.first), as_array(sums.second), sums.error, sums.error2);
}

}  // namespace

// (csr, cuts, own, shared, at, threads) -> the fields of SbmfSums.
void bind_sbmf(nb::module_& m) {
    m.def("sbmf_float", &run<Lanes>);
    m.def("sbmf_double", &run<double>);
    m.def("sbmf_tiles",
          [](int64_t numbers) { return tile_most.exchange(numbers); });  // for tests: the largest tile; 0: by the rule
}

}  // namespace dyads
