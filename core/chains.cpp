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

// A row of `sides` for each of u, v and each of first, second and coordinate, and two for z; the rows of `motion` are
// rate, weight and the prior's first and second for u, v and z, then x.
template <class T, class Item>
void chain(Array<Item, 2> sides, Array<const Item, 2> motion) {
    const auto n = static_cast<int64_t>(sides.shape(1));
    const int width_of_side = (static_cast<int>(sides.shape(0)) - 2) / 4;
    std::vector<Natural<T>> state[2] = {std::vector<Natural<T>>(static_cast<size_t>(width_of_side)),
                                        std::vector<Natural<T>>(static_cast<size_t>(width_of_side))};
    std::vector<formula::Gaussian<T>> now[2] = {std::vector<formula::Gaussian<T>>(static_cast<size_t>(width_of_side)),
                                                std::vector<formula::Gaussian<T>>(static_cast<size_t>(width_of_side))};
    for (int64_t first = 0; first < n; first += width<T>) {
        const Columns<T, Item> numbers{sides.data(), n, first};
        const Columns<T, const Item> moves{motion.data(), n, first};
        const auto moved = [&](int s) {
            return formula::Motion<T>{moves.at(4 * s), moves.at(4 * s + 1), {moves.at(4 * s + 2), moves.at(4 * s + 3)}};
        };
        const auto row = [&](int s, int part, int k) { return (2 * s + part) * width_of_side + k; };
        formula::EntrySide<T> side[2];
        for (int s = 0; s < 2; s++) {
            for (int k = 0; k < width_of_side; k++)
                state[s][static_cast<size_t>(k)] = {numbers.at(row(s, 0, k)), numbers.at(row(s, 1, k))};
            side[s] = {state[s].data(), now[s].data(), moved(s)};
        }
        const int last = 4 * width_of_side;
        formula::EntryOffset<T> z{{numbers.at(last), numbers.at(last + 1)}, moved(2)};
        formula::entry_chain(side[0], side[1], z, moves.at(12), width_of_side - 1);
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < width_of_side; k++) {
                numbers.put(row(s, 0, k), side[s].state[k].first);
                numbers.put(row(s, 1, k), side[s].state[k].second);
            }
        numbers.put(last, z.state.first);
        numbers.put(last + 1, z.state.second);
    }
}

}  // namespace

void bind_chains(nb::module_& m) {
    m.def("entry_chain_double", &chain<double, double>);
    m.def("entry_chain_float", &chain<float, float>);
    m.def("entry_chain_lanes", &chain<Lanes, float>);
}

}  // namespace dyads
