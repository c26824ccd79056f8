// sbmf.hpp: a half-sweep of SBMF: every row of one side moves, given the other side.
//
// Rows go forward over the tile of their neighbours, two at a time: the sum that ends a pass of one hides behind the
// pass of the other. A row whose tile would outgrow the second-level cache goes by its Gram matrix instead; and where
// such a row holds much of all data, its matrix is summed in parts that threads share.
#pragma once
#include <utility>
#include <vector>

#include "gram.hpp"
#include "streams.hpp"
#include "team.hpp"
#include "tile.hpp"

namespace dyads::sbmf {

inline constexpr int64_t together = 2;  // rows that go forward side by side

// The largest tile. Beyond the second-level cache its passes cost about 1 ns per number, the Gram matrix K / 80 ns, and
// threads can share it: so it takes over at some times that cache for a small K, and for a large one where memory is
// scarce. Of the data and K alone, never of the machine, for the two ways differ in their last bits.
constexpr int64_t tile_numbers(int64_t slots) { return int64_t{1} << (slots <= 64 ? 20 : 24); }
inline constexpr int64_t wide_share = 64;  // a row with more than one in so many of all entries is shared by threads,
inline constexpr int64_t wide_parts = 16;  // in so many parts

// Sums over some rows and their residuals.
struct Sums {
    std::vector<double> first, second;  // of bias and factors, and of their squares
    double error = 0, error2 = 0;

    explicit Sums(int64_t slots) : first(slots), second(slots) {}

    void add(const Sums& other) {
        for (size_t s = 0; s < first.size(); s++) {
            first[s] += other.first[s];
            second[s] += other.second[s];
        }
        error += other.error;
        error2 += other.error2;
    }
};

// Memory that one thread works in.
template <class Item>
struct Work {
    Scratch<Item> tile, x, noise, gram;
    Scratch<double> total;
};

template <class V>
struct Half {
    using Item = typename formula::Number<V>::Scalar;
    static constexpr int W = width<V>;

    Rows rows;
    int64_t n_rows, n_factors;
    Item *factors, *bias;  // of the rows: written
    Table<Item> other;
    Item offset;
    formula::Prior<V> prior;  // up to whole vectors
    formula::Prior<double> exact;
    Stream stream;
    int64_t first;  // the first coordinate that moves: 0 is the bias
    bool draw;
    int64_t most;  // numbers that a tile may have

    int64_t slots() const { return n_factors + 1; }
    int64_t across() const { return padded<V>(other.stride); }
    bool by_gram(int64_t r) const { return draw && rows.count(r) * slots() > most; }
    bool is_wide(int64_t r) const { return by_gram(r) && rows.count(r) > rows.ptr[n_rows] / wide_share; }

    // Rows [from, to) but for those that are wide.
    void shard(int64_t from, int64_t to, Sums& sums, Stop& stop) const {
        static thread_local Work<Item> work;
        int64_t waiting[together], n = 0;
        for (int64_t r = from; r < to && !stop.asked(); r++) {
            if (!draw) {
                look(r, read(r, work), sums, stop);
            } else if (!by_gram(r)) {
                waiting[n++] = r;
                if (n == together) forward(waiting, std::exchange(n, 0), work, sums);
            } else if (!is_wide(r)) {
                double* const total = work.total.get(triangle_numbers());
                std::fill_n(total, triangle_numbers(), 0.0);
                add_products(rows.row(r), total, work, stop);
                if (stop.asked()) return;
                look(r, move(r, total, work), sums, stop);
            }
        }
        if (n > 0 && !stop.asked()) forward(waiting, n, work, sums);
    }

    // --- by the tile --------------------------------------------------------------------------------------------

    void forward(const int64_t* row, int64_t n, Work<Item>& work, Sums& sums) const {
        Tile<V> tile[together];
        int64_t room[together + 1] = {};
        for (int64_t i = 0; i < n; i++) room[i + 1] = room[i] + Tile<V>::room(rows.count(row[i]), other.stride);
        Item* const memory = work.tile.get(room[n]);
        for (int64_t i = 0; i < n; i++) {
            tile[i].load(memory + room[i], rows.row(row[i]), other, offset, read(row[i], work));
            tile[i].prepare(prior, noise(row[i], work));
        }
        for (int64_t s = first; s < slots(); s += 2)
            for (int64_t i = 0; i < n; i++) {
                if (s + 1 < slots())
                    tile[i].template pass<2>(s);
                else
                    tile[i].template pass<1>(s);
            }
        for (int64_t i = 0; i < n; i++) {
            tile[i].add_errors(sums.error, sums.error2);
            write(row[i], tile[i].x());
            add_row(tile[i].x(), sums);
        }
    }

    // --- by the Gram matrix -------------------------------------------------------------------------------------

    int64_t gram_rows() const { return n_factors + 2; }  // y, the bias's ones, the factors
    int64_t triangle_numbers() const { return gram_rows() * gram_stride<V>(gram_rows()); }

    // Adds the triangle of some neighbours to `total`.
    void add_products(const Neighbours& row, double* total, Work<Item>& work, Stop& stop) const {
        for (int64_t at = 0; at < row.n && !stop.asked(); at += gram_block) {
            const Neighbours some = row.part(at, std::min(row.n, at + gram_block));
            add_block<V>(
                some.n, gram_rows(), false, work.gram, total,
                [&](int64_t from, int64_t to, Item* a, Item*, int64_t step) { fill(some, from, to, a, step); });
        }
    }

    void fill(const Neighbours& row, int64_t from, int64_t to, Item* panel, int64_t step) const {
        for (int64_t j = from; j < to; j++, panel += step) {
            if (j + 8 < row.n) other.prefetch(row.index[j + 8]);
            const Item* const neighbour = other.row(row.index[j]);
            panel[0] = Item(row.at(j)) - offset - neighbour[0];
            panel[1] = Item(1);
            for (int64_t s = 0; s < n_factors; s += W) store(panel + 2 + s, load<V>(neighbour + 1 + s));
        }
    }

    Item* move(int64_t r, const double* gram, Work<Item>& work) const {
        std::vector<double> x(slots()), z(slots());
        Item* const row = read(r, work);
        const Item* const drawn = noise(r, work);
        std::copy_n(row, slots(), x.begin());
        std::copy_n(drawn, slots(), z.begin());
        formula::chain(gram, gram_stride<V>(gram_rows()), first, slots(), exact, z.data(), x.data());
        for (int64_t s = 0; s < slots(); s++) row[s] = static_cast<Item>(x[s]);
        write(r, row);
        return row;
    }

    // A wide row: its parts side by side, their sums in order. run(n, part) runs the parts.
    template <class Run>
    void wide_row(int64_t r, Sums& sums, Run run) const {
        const int64_t n = rows.count(r), size = triangle_numbers();
        std::vector<double> totals(wide_parts * size);
        const auto part = [&](int64_t p) { return rows.row(r).part(n * p / wide_parts, n * (p + 1) / wide_parts); };
        run(wide_parts, [&](int64_t p, Stop& stop) {
            static thread_local Work<Item> work;
            add_products(part(p), totals.data() + p * size, work, stop);
        });
        for (int64_t p = 1; p < wide_parts; p++)
            for (int64_t k = 0; k < size; k++) totals[k] += totals[p * size + k];
        Work<Item> own;
        Item* const x = move(r, totals.data(), own);
        add_row(x, sums);
        const Item bias_of_row = std::exchange(x[0], Item(1));
        std::vector<Sums> errors(wide_parts, Sums(0));
        run(wide_parts, [&](int64_t p, Stop& stop) { add_errors(part(p), x, bias_of_row, errors[p], stop); });
        for (const Sums& one : errors) {
            sums.error += one.error;
            sums.error2 += one.error2;
        }
    }

    // --- rows and residuals -------------------------------------------------------------------------------------

    // A row as the tables hold it, zeros up to whole vectors.
    Item* read(int64_t r, Work<Item>& work) const {
        Item* const x = work.x.get(across());
        pack_rows(x, across(), factors + r * n_factors, bias + r, n_factors, 0, 1);
        return x;
    }

    void write(int64_t r, const Item* x) const {
        bias[r] = x[0];
        std::copy_n(x + 1, n_factors, factors + r * n_factors);
    }

    Item* noise(int64_t r, Work<Item>& work) const {
        Item* const z = work.noise.get(across());
        Stream mine = stream;
        mine.row = static_cast<uint32_t>(r);
        fill_normal(mine, slots(), z);
        std::fill(z + slots(), z + across(), Item(0));
        return z;
    }

    // The sums of a row that stays as it is; x is left with a one for its bias.
    void look(int64_t r, Item* x, Sums& sums, Stop& stop) const {
        add_row(x, sums);
        const Item own = std::exchange(x[0], Item(1));
        add_errors(rows.row(r), x, own, sums, stop);
    }

    void add_row(const Item* x, Sums& sums) const {
        for (int64_t s = 0; s < slots(); s++) {
            const auto value = static_cast<double>(x[s]);
            sums.first[s] += value;
            sums.second[s] += value * value;
        }
    }

    // The residuals of some neighbours; x is their row, but for a one in the place of its own bias.
    void add_errors(const Neighbours& row, const Item* x, Item own, Sums& sums, Stop& stop) const {
        for (int64_t at = 0; at < row.n && !stop.asked(); at += gram_block) {
            const Neighbours some = row.part(at, std::min(row.n, at + gram_block));
            V error{}, error2{};
            for (int64_t b = 0; b < some.n; b += W) {
                const int64_t m = std::min<int64_t>(some.n - b, W);
                const V e = (targets<V>(some, b, m, offset + own) - products(some, b, m, x)) * first_ones<V>(m);
                error += e;
                error2 = mul_add(e, e, error2);
            }
            sums.error += static_cast<double>(sum(error));
            sums.error2 += static_cast<double>(sum(error2));
        }
    }

    // x · v of neighbours b .. b + m - 1.
    V products(const Neighbours& row, int64_t b, int64_t m, const Item* x) const {
        V dot[W] = {}, total{};
        for (int64_t l = 0; l < m; l++) {
            if (b + l + W < row.n) other.prefetch(row.index[b + l + W]);
            const Item* const neighbour = other.row(row.index[b + l]);
            for (int64_t s = 0; s < other.stride; s += W)
                dot[l] = mul_add(load<V>(neighbour + s), load<V>(x + s), dot[l]);
        }
        transpose(dot);
        for (int l = 0; l < W; l++) total += dot[l];
        return total;
    }
};

}  // namespace dyads::sbmf
