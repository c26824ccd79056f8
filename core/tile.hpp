// tile.hpp: the coordinate chain of a row over the tile of its neighbours' factors, linear in K.
//
// The tile holds coordinate s of all n neighbours as one contiguous column; column 0 is of ones, for the row's own
// bias. A pass over two columns takes the sums of the residuals against them and, on the way, adds what the moves of
// the two coordinates before did to the residuals: two at a time halve the reading and writing of residuals and the
// waiting for sums. Columns are an odd number of vectors apart, for at powers of two all would fall into the same cache
// sets.
#pragma once
#include "formula/chain.hpp"
#include "side.hpp"

namespace dyads {

using formula::mul_add;

template <class V>
class Tile {
    static constexpr int W = width<V>;
    static constexpr int pieces = W < quad ? 1 : W / quad;  // a square's sum while it is taken

  public:
    using Item = typename formula::Number<V>::Scalar;

    // How many numbers a tile takes.
    static int64_t room(int64_t n, int64_t stride) {
        return column(n) * (stride + 1) + 4 * padded<V>(stride) + stride * pieces;
    }

    // Gathers a row's neighbours; x is the row itself, [bias, f_1 .. f_K], zeros up to whole vectors.
    void load(Item* memory, const Neighbours& row, const Table<Item>& other, Item offset, const Item* x) {
        n_ = padded<V>(row.n);
        step_ = column(row.n);
        slots_ = other.stride;
        const int64_t across = padded<V>(slots_);
        columns_ = memory;
        residual_ = columns_ + step_ * slots_;
        x_ = residual_ + step_;
        square_ = x_ + across;
        start_ = square_ + across;
        weight_ = start_ + across;
        Item* part = weight_ + across;
        std::copy_n(x, across, x_);
        std::fill_n(part, slots_ * pieces, Item(0));
        for (int64_t b = 0; b < n_; b += W) gather(row, b, other, offset, part);
        take_squares(part, row.n);
        move_[0] = move_[1] = Item(0);
        moved_ = columns_;
    }

    // All that a move needs besides the residuals; prior and z are zeros, or any finite numbers, up to whole vectors.
    void prepare(const formula::Prior<V>& prior, const Item* z) {
        for (int64_t s = 0; s < slots_; s += W) {
            const auto given = formula::conditional(at(prior.precision + s), at(prior.pull + s), prior.tau,
                                                    at(square_ + s), at(z + s));
            store(start_ + s, given.start);
            store(weight_ + s, given.weight);
        }
    }

    // Moves `count` coordinates, one or two, from s on. The second takes its sum from the same residuals as the first;
    // what the first one's move does to it is the product of their columns.
    template <int count>
    void pass(int64_t s) {
        const Item* const column = columns_ + s * step_;
        const V move[2] = {formula::all<V>(move_[0]), formula::all<V>(move_[1])};
        V sums[2][3] = {};
        int64_t b = 0;
        for (; b + 2 * W <= n_; b += 2 * W)
#pragma GCC unroll 2
            for (int p = 0; p < 2; p++) advance<count>(move, column, b + p * W, sums[p]);
        for (; b < n_; b += W) advance<count>(move, column, b, sums[0]);
        move_[0] = moved(s, sum(sums[0][0] + sums[1][0]));
        move_[1] = Item(0);
        if constexpr (count == 2)
            move_[1] = moved(s + 1, mul_add(move_[0], sum(sums[0][2] + sums[1][2]), sum(sums[0][1] + sums[1][1])));
        moved_ = column;
    }

    // Adds Σ e and Σ e² of the residuals as they are now; lanes beyond the last neighbour hold zeros.
    void add_errors(double& error, double& error2) const {
        const V move[2] = {formula::all<V>(move_[0]), formula::all<V>(move_[1])};
        V first{}, second{};
        for (int64_t b = 0; b < n_; b += W) {
            const V e = residual(move, b);
            first += e;
            second = mul_add(e, e, second);
        }
        error += static_cast<double>(sum(first));
        error2 += static_cast<double>(sum(second));
    }

    const Item* x() const { return x_; }

  private:
    static V at(const Item* from) { return dyads::load<V>(from); }
    static int64_t column(int64_t n) { return (padded<V>(n) / W | 1) * W; }

    V residual(const V (&move)[2], int64_t b) const {
        return mul_add(move[1], at(moved_ + step_ + b), mul_add(move[0], at(moved_ + b), at(residual_ + b)));
    }

    template <int count>
    void advance(const V (&move)[2], const Item* column, int64_t b, V (&sums)[3]) {
        const V e = residual(move, b), first = at(column + b);
        store(residual_ + b, e);
        sums[0] = mul_add(e, first, sums[0]);
        if constexpr (count == 2) {
            const V second = at(column + step_ + b);
            sums[1] = mul_add(e, second, sums[1]);
            sums[2] = mul_add(first, second, sums[2]);
        }
    }

    // Moves a coordinate with the sum h; gives back by how much.
    Item moved(int64_t s, Item h) {
        const Item now = formula::moved<Item>({start_[s], weight_[s]}, x_[s], square_[s], h), move = x_[s] - now;
        x_[s] = now;
        return move;
    }

    // Neighbours b .. b + W - 1: their columns, their residuals, and their part of the squares.
    void gather(const Neighbours& row, int64_t b, const Table<Item>& other, Item offset, Item* squares) {
        const int64_t m = std::min<int64_t>(row.n - b, W);
        const Item* from[W];
#pragma GCC unroll 16
        for (int l = 0; l < W; l++) from[l] = l < m ? other.row(row.index[b + l]) : other.zeros();
        V e = targets<V>(row, b, m, offset), more{};
        for (int64_t s = 0; s < slots_; s += quad) {
            V part[quad];
            load_quads(part, from, s);
            add_squares(squares + s * pieces, part);
            transpose_quads(part);
            if (s == 0) {
                e -= part[0];
                part[0] = first_ones<V>(m);
            }
#pragma GCC unroll 4
            for (int q = 0; q < quad; q++) {
                store(columns_ + (s + q) * step_ + b, part[q]);
                V& into = q % 2 == 0 ? e : more;
                into = mul_add(-formula::all<V>(x_[s + q]), part[q], into);
            }
        }
        store(residual_ + b, e + more);
    }

    // The pieces of four squares hold neighbours in columns as load_quads leaves them.
    static void add_squares(Item* into, const V (&part)[quad]) {
        if constexpr (W < quad) {
            for (int q = 0; q < quad; q++) into[q] = mul_add(part[q], part[q], into[q]);
        } else {
            V total = at(into);
            for (int q = 0; q < quad; q++) total = mul_add(part[q], part[q], total);
            store(into, total);
        }
    }

    void take_squares(const Item* part, int64_t n) {
        for (int64_t s = 0; s < slots_; s++) {
            Item total(0);
            for (int p = 0; p < pieces; p++) total += part[s / quad * quad * pieces + p * quad + s % quad];
            square_[s] = total;
        }
        std::fill(square_ + slots_, start_, Item(0));
        square_[0] = static_cast<Item>(n);
    }

    int64_t n_, step_, slots_;
    Item *columns_, *residual_, *x_, *square_, *start_, *weight_;
    Item move_[2];       // of the coordinates that moved last
    const Item* moved_;  // their columns; behind the last one stand the residuals, and then the second move is 0
};

}  // namespace dyads
