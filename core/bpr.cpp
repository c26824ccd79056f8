// bpr.cpp: Bayesian personalised ranking for Python: the kernel, its check, and the phases of a minibatch by
// themselves.
#include "bpr.hpp"

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "descent.hpp"
#include "python.hpp"

namespace dyads::bpr {
namespace {

// --- from Python -------------------------------------------------------------------------------------------------

template <class T, int dimensions>
T* array(nb::handle from) {
    return nb::cast<Array<T, dimensions>>(from, false).data();
}

// BprData: rows, items, negatives (ptr, idx, gap, shut, upto, room).
Negatives negatives(const nb::tuple& data) {
    const auto rows = nb::cast<Array<const int32_t, 1>>(data[0], false);
    const auto table = nb::cast<nb::tuple>(data[2]);
    const auto upto = nb::cast<Array<const int64_t, 1>>(table[4], false);
    const auto room = nb::cast<Array<const int64_t, 1>>(table[5], false);
    if (rows.shape(0) == 0) throw std::invalid_argument("triples need at least one pair");
    return {rows.data(),
            array<const int32_t, 1>(data[1]),
            static_cast<int64_t>(rows.shape(0)),
            array<const int64_t, 1>(table[0]),
            array<const int32_t, 1>(table[1]),
            array<const int64_t, 1>(table[2]),
            upto.data(),
            room.data(),
            static_cast<int64_t>(room.shape(0)),
            static_cast<int64_t>(upto.shape(0)) - 1};
}

At address(const nb::tuple& at) {
    return {nb::cast<uint64_t>(at[0]), nb::cast<uint32_t>(at[1]), nb::cast<uint32_t>(at[2])};
}

template <class Item>
Packed<Item> packed(const nb::tuple& user, const nb::tuple& item) {
    const auto users = nb::cast<Array<Item, 2>>(user[0], false);
    const auto items = nb::cast<Array<Item, 2>>(item[0], false);
    return {users.data(),
            items.data(),
            array<Item, 1>(item[1]),
            static_cast<int64_t>(users.shape(0)),
            static_cast<int64_t>(items.shape(0)),
            static_cast<int64_t>(users.shape(1))};
}

nb::tuple as_tuple(const Sums& sums) { return nb::make_tuple(sums.log_sigma, sums.correct, sums.skipped); }

template <class V, class Item>
nb::tuple descend(const nb::tuple& data, const nb::tuple& user, const nb::tuple& item, const nb::tuple& shared,
                  const nb::tuple& at, uint32_t site, int threads) {
    const Negatives from = negatives(data);
    const Shared given{nb::cast<int64_t>(shared[0]), nb::cast<int64_t>(shared[1]), nb::cast<double>(shared[2]),
                       nb::cast<double>(shared[3]), nb::cast<double>(shared[4])};
    const Triples triples(from, address(at), site);
    Descent<V, Item> descent(triples, from.n_ones, packed<Item>(user, item), given, address(at).tick);
    Sums sums;
    run_phases(
        threads, [&](Phases& phases, Stop& stop) { sums = descent.run(phases, stop); },
        [](int64_t n, int with, const Shard& shard) { run_shards(n, with, shard); });
    return as_tuple(sums);
}

// Σ 1, Σ log σ(x) and Σ log² σ(x) over triples drawn at tick 0.
template <class Item>
nb::tuple check(const nb::tuple& data, const nb::tuple& user, const nb::tuple& item, int64_t n, const nb::tuple& at,
                uint32_t site, int threads) {
    const Negatives from = negatives(data);
    const Packed<Item> rows = packed<Item>(user, item);
    const Triples triples(from, address(at), site);
    struct Found {
        int64_t n = 0;
        double first = 0, second = 0;
    };
    std::vector<Found> found(static_cast<size_t>((n + longest - 1) / longest));
    run_shards(static_cast<int64_t>(found.size()), threads, [&](int64_t shard, Stop&) {
        Triple drawn[longest];
        const int64_t first = shard * longest, m = std::min(longest, n - first);
        triples.draw(0, first, m, drawn);
        Found& sums = found[static_cast<size_t>(shard)];
        for (int64_t t = 0; t < m; t++) {
            if (drawn[t].user == no_row) continue;
            const int64_t i = drawn[t].one - rows.n_users, j = drawn[t].zero - rows.n_users;
            double x = static_cast<double>(rows.bias[i]) - static_cast<double>(rows.bias[j]);
            const Item *u = rows.user + drawn[t].user * rows.k, *vi = rows.item + i * rows.k,
                       *vj = rows.item + j * rows.k;
            for (int64_t k = 0; k < rows.k; k++)
                x += static_cast<double>(u[k]) * (static_cast<double>(vi[k]) - static_cast<double>(vj[k]));
            const double value = std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
            sums.n++;
            sums.first += value;
            sums.second += value * value;
        }
    });
    Found total;
    for (const Found& part : found) {
        total.n += part.n;
        total.first += part.first;
        total.second += part.second;
    }
    return nb::make_tuple(total.n, total.first, total.second);
}

// --- the phases by themselves --------------------------------------------------------------------------------------

// Row numbers of n triples of the minibatch at `at`.
void draw(const nb::tuple& data, const nb::tuple& at, uint32_t site, int64_t first, Array<uint32_t, 2> out) {
    const Triples triples(negatives(data), address(at), site);
    std::vector<Triple> drawn(out.shape(0));
    triples.draw(address(at).tick, first, static_cast<int64_t>(drawn.size()), drawn.data());
    if (!drawn.empty()) std::memcpy(out.data(), drawn.data(), drawn.size() * sizeof(Triple));
}

template <class V, class Item>
nb::tuple contributions(Array<const Item, 2> table, Array<const uint32_t, 2> triples, double rate, double shrink,
                        Array<Item, 3> out) {
    const auto step = static_cast<int64_t>(table.shape(1)), n = static_cast<int64_t>(triples.shape(0));
    const Minibatch<V, Item> minibatch(table.data(), step, {static_cast<Item>(rate), static_cast<Item>(shrink)});
    return as_tuple(minibatch.contributions(reinterpret_cast<const Triple*>(triples.data()), n, out.data()));
}

template <class V, class Item>
void fold(Array<Item, 2> table, Array<const uint32_t, 2> triples, Array<const Item, 3> parts) {
    const auto step = static_cast<int64_t>(table.shape(1));
    for (size_t e = 0; e < 3 * triples.shape(0); e++) {
        const uint32_t row = triples.data()[e];
        if (row != no_row) add_row<V>(table.data() + row * step, parts.data() + static_cast<int64_t>(e) * step, step);
    }
}

template <class V, class Item>
void bind(nb::module_& m, const char* suffix) {
    const auto name = [&](const char* stem) { return std::string(stem) + suffix; };
    m.def(name("bpr_").c_str(), &descend<V, Item>);
    m.def(name("bpr_check_").c_str(), &check<Item>);
    m.def(name("bpr_contributions_").c_str(), &contributions<V, Item>);
    m.def(name("bpr_fold_").c_str(), &fold<V, Item>);
    m.def(name("bpr_stride_").c_str(), &stride<Item>);
}

}  // namespace
}  // namespace dyads::bpr

namespace dyads {

void bind_bpr(nb::module_& m) {
    m.def("bpr_draw", &bpr::draw);
    bpr::bind<Lanes, float>(m, "float32");
    bpr::bind<double, double>(m, "float64");
}

}  // namespace dyads
