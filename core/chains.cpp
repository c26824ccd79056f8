// chains.cpp: the chain of a sampled entry by itself, for the tests of each level.
#include <vector>

#include "formula/entry_chain.hpp"
#include "python.hpp"
#include "simd.hpp"

namespace dyads {
namespace {

using formula::all;
using formula::Natural;

// Numbers of n entries, one column each: moved into a T and back.
template <class T, class Item>
struct Columns {
    Item* data;
    int64_t n;
    int64_t first;

    T at(int64_t row) const {
        T x{};
        if constexpr (width<T> == 1)
            x = data[row * n + first];
        else
            x = load_first<T>(data + row * n + first, std::min<int64_t>(width<T>, n - first));
        return x;
    }
    void put(int64_t row, T x) const {
        if constexpr (width<T> == 1)
            data[row * n + first] = x;
        else
            store_first(data + row * n + first, x, n - first);
    }
};

// `numbers` has a row for each of u and v, each of first and second, and each coordinate, and two for z; `moves` has
// rate, weight and the prior's first and second for u, v and z, then x. A column is an entry.
template <class T, class Item>
struct Entries {
    Columns<T, Item> numbers;
    Columns<T, const Item> moves;
    int width_of_side;
    std::vector<Natural<T>> state[2]{std::vector<Natural<T>>(static_cast<size_t>(width_of_side)),
                                     std::vector<Natural<T>>(static_cast<size_t>(width_of_side))};
    std::vector<formula::Gaussian<T>> now[2]{std::vector<formula::Gaussian<T>>(static_cast<size_t>(width_of_side)),
                                             std::vector<formula::Gaussian<T>>(static_cast<size_t>(width_of_side))};

    int row(int s, int part, int k) const { return (2 * s + part) * width_of_side + k; }

    formula::Motion<T> motion(int s) const {
        return {moves.at(4 * s), moves.at(4 * s + 1), {moves.at(4 * s + 2), moves.at(4 * s + 3)}};
    }

    formula::EntrySide<T> gather(int s) {
        for (int k = 0; k < width_of_side; k++)
            state[s][static_cast<size_t>(k)] = {numbers.at(row(s, 0, k)), numbers.at(row(s, 1, k))};
        return {state[s].data(), now[s].data(), motion(s)};
    }

    void scatter(int s) const {
        for (int k = 0; k < width_of_side; k++) {
            numbers.put(row(s, 0, k), state[s][static_cast<size_t>(k)].first);
            numbers.put(row(s, 1, k), state[s][static_cast<size_t>(k)].second);
        }
    }
};

template <class T, class Item>
void chain(Array<Item, 2> sides, Array<const Item, 2> motion) {
    const auto n = static_cast<int64_t>(sides.shape(1));
    const int width_of_side = (static_cast<int>(sides.shape(0)) - 2) / 4, last = 4 * width_of_side;
    for (int64_t first = 0; first < n; first += width<T>) {
        Entries<T, Item> entries{{sides.data(), n, first}, {motion.data(), n, first}, width_of_side};
        formula::EntrySide<T> u = entries.gather(0), v = entries.gather(1);
        formula::EntryOffset<T> z{{entries.numbers.at(last), entries.numbers.at(last + 1)}, entries.motion(2)};
        formula::entry_chain(u, v, z, entries.moves.at(12), width_of_side - 1);
        entries.scatter(0);
        entries.scatter(1);
        entries.numbers.put(last, z.state.first);
        entries.numbers.put(last + 1, z.state.second);
    }
}

}  // namespace

void bind_chains(nb::module_& m) {
    m.def("entry_chain_double", &chain<double, double>);
    m.def("entry_chain_float", &chain<float, float>);
    m.def("entry_chain_lanes", &chain<Lanes, float>);
}

}  // namespace dyads
