// tile.hpp: the coordinate chain of a row over the tile of its neighbours' factors, linear in K.
//
// The tile holds slot k of all n neighbours as one contiguous column. A pass over column k takes the residual's sum
// against it and, on the way, adds what the move of coordinate k - 1 did to the residual. Two rows go forward together:
// the horizontal sum that ends one row's pass hides behind the other's. Columns are an odd number of vectors apart, for
// at powers of two all of them would fall into the same cache sets.
#pragma once
#include "side.hpp"

namespace dyads {

inline constexpr int tile_rows = 2;  // rows that go forward together

// What a chain draws from: for coordinate slot s (1: the bias, 2 ..: factors) with residual sum h = Σ e v and q = Σ v²,
// new = (prior pull + τ (h + x q)) / (precision + τ q) + noise.
template <class Item>
struct ChainPrior {
    const Item* precision;  // by slot
    const Item* pull;       // precision times prior mean, by slot
    Item tau;
    int64_t first;  // the first slot that moves: 1 with biases, 2 without
};

template <class V>
class Tile {
    static constexpr int W = width<V>;

  public:
    using Item = typename formula::Number<V>::Scalar;

    static int64_t room(int64_t n, int64_t stride) { return column(n) * (stride + 1) + 5 * stride + W; }

    // Gathers the neighbours; x is the row as a table holds it, [bias, 1, f ..].
    void load(Item* memory, const Neighbours<Item>& row, const Table<Item>& other, Item offset, const Item* x) {
        n_ = padded<V>(row.n);
        step_ = column(row.n);
        slots_ = other.stride;
        columns_ = memory;
        residual_ = columns_ + step_ * slots_;
        x_ = residual_ + step_;
        square_ = x_ + slots_;
        std::copy_n(x, slots_, x_);
        x_[1] = x_[0];       // slot 1 carries the bias
        x_[0] = Item(-1);    // and slot 0 the target: residual = - Σ_slots x v
        std::fill_n(square_, slots_, Item(0));
        for (int64_t b = 0; b < n_; b += W) gather(row, b, other, offset);
        move_ = Item(0);
        moved_ = columns_;
    }

    // Draws the starting points and weights of all coordinates, z the noise by slot.
    void prepare(const ChainPrior<Item>& prior, const Item* z) {
        Item *start = square_ + slots_, *weight = start + slots_;
        for (int64_t s = 0; s < slots_; s += W) {
            const V q = loadv(square_ + s) * prior.tau;
            V precision = loadv(prior.precision + s) + q;
            precision = precision > Item(0) ? precision : V{} + Item(1);
            const V variance = (V{} + Item(1)) / precision;
            const V mean = loadv(prior.pull + s) * variance;
            storev(start + s, mul_add(formula::Number<V>::root(variance), loadv(z + s), mean));
            storev(weight + s, variance * prior.tau);
        }
    }

    // Moves coordinate s.
    void pass(int64_t s) {
        const Item* column = columns_ + s * step_;
        const V move = V{} + move_;
        V sums[4] = {};
        int64_t b = 0;
        for (; b + 4 * W <= n_; b += 4 * W)
#pragma GCC unroll 4
            for (int p = 0; p < 4; p++) {
                const V e = mul_add(move, loadv(moved_ + b + p * W), loadv(residual_ + b + p * W));
                storev(residual_ + b + p * W, e);
                sums[p] = mul_add(e, loadv(column + b + p * W), sums[p]);
            }
        for (; b < n_; b += W) {
            const V e = mul_add(move, loadv(moved_ + b), loadv(residual_ + b));
            storev(residual_ + b, e);
            sums[0] = mul_add(e, loadv(column + b), sums[0]);
        }
        const Item h = sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
        const Item *start = square_ + slots_, *weight = start + slots_;
        const Item now = mul_add(weight[s], mul_add(x_[s], square_[s], h), start[s]);
        move_ = x_[s] - now;
        x_[s] = now;
        moved_ = column;
    }

    // Σ e and Σ e² of the residuals as they are now; lanes beyond the last neighbour hold zeros.
    void errors(double& error, double& error2) {
        V first{}, second{};
        const V move = V{} + move_;
        for (int64_t b = 0; b < n_; b += W) {
            const V e = mul_add(move, loadv(moved_ + b), loadv(residual_ + b));
            first += e;
            second = mul_add(e, e, second);
        }
        error += sum(first);
        error2 += sum(second);
    }

    Item bias() const { return x_[1]; }
    const Item* factors() const { return x_ + 2; }

  private:
    static V loadv(const Item* from) { return dyads::load<V>(from); }
    static void storev(Item* to, V x) { dyads::store(to, x); }
    static int64_t column(int64_t n) { return (padded<V>(n) / W | 1) * W; }

    void gather(const Neighbours<Item>& row, int64_t b, const Table<Item>& other, Item offset) {
        alignas(64) static const Item zeros[W]{};
        const int64_t m = std::min<int64_t>(row.n - b, W);
        const Item* from[W];
        V target{};
#pragma GCC unroll 16
        for (int l = 0; l < W; l++) from[l] = l < m ? other.row(row.index[b + l]) : nullptr;
        for (int64_t j = b + W; j < std::min(row.n, b + 2 * W); j++) {
            const Item* next = other.row(row.index[j]);
            for (int64_t s = 0; s < slots_; s += 64 / static_cast<int64_t>(sizeof(Item))) __builtin_prefetch(next + s);
        }
        if constexpr (W == 1) {
            target = row.at(b) - offset;
        } else {
            if (!row.value) {
                for (int64_t l = 0; l < m; l++) target[l] = Item(1) - offset;
            } else {
                target = m == W ? loadv(row.value + b) : load_first<V>(row.value + b, m);
                for (int64_t l = 0; l < m; l++) target[l] -= offset;
            }
        }
        V even{}, odd{};
        for (int64_t s = 0; s < slots_; s += W) {
            V part[W];
            V square = loadv(square_ + s);
#pragma GCC unroll 16
            for (int l = 0; l < W; l++) {
                part[l] = loadv(from[l] ? from[l] + s : zeros);
                square = mul_add(part[l], part[l], square);
            }
            storev(square_ + s, square);
            transpose(part);
            if (s == 0) part[0] = target - part[0];
#pragma GCC unroll 16
            for (int l = 0; l < W; l++) {
                storev(columns_ + (s + l) * step_ + b, part[l]);
                V& e = l % 2 ? odd : even;
                e = mul_add(part[l], V{} - x_[s + l], e);
            }
        }
        storev(residual_ + b, even + odd);
    }

    int64_t n_, step_, slots_;
    Item *columns_, *residual_, *x_, *square_;
    Item move_;
    const Item* moved_;
};

}  // namespace dyads
