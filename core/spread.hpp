// spread.hpp: variances of cells for the search of the best, computed only where a mean calls for them.
//
// The variance of a cell is a sum of one or two products a · b over k. Each lies around Σa mean(b), no further away
// than ‖a - mean a‖ ‖b - mean b‖ (Cauchy and Schwarz), so two numbers for each user and item bound it. The bound is
// close where variances differ little within a row, and a cell that passes it is computed.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "side.hpp"
#include "topn.hpp"

namespace dyads::topn {

inline constexpr int most_groups = 2;
inline constexpr float slack = 0x1p-15f;  // more than float32 loses in the few steps of a bound

struct Moments {
    float total = 0, mean = 0, deviation = 0;

    Moments() = default;
    Moments(const float* x, int64_t n) {
        double sum = 0, square = 0;
        for (int64_t i = 0; i < n; i++) sum += static_cast<double>(x[i]);
        const double middle = n ? sum / static_cast<double>(n) : 0;
        for (int64_t i = 0; i < n; i++) {
            const double off = static_cast<double>(x[i]) - middle;
            square += off * off;
        }
        total = static_cast<float>(sum);
        mean = static_cast<float>(middle);
        deviation = static_cast<float>(std::sqrt(square));
    }
};

// 1 + c s, s the variance of a cell, lies between low(item) and high(item).
struct UserBound {
    float least = 0, low0 = 0, high0 = 0;
    std::array<float, most_groups> low_mean{}, high_mean{}, low_deviation{}, high_deviation{};
};

// The variances of a block of items against all users.
class Spread {
  public:
    Spread() = default;
    Spread(int64_t n_groups, int64_t k, float offset, float weight, int64_t n_panels)
        : groups_(n_groups), k_(k), step_(padded<Lanes>(n_groups * k)), offset_(offset), weight_(weight) {
        if (!groups_) return;
        std::fill_n(rows_.get(n_panels * panel * step_), n_panels * panel * step_, 0.0f);
        columns_.get(n_panels * panel * groups_ * k_);
        moments_.resize(static_cast<size_t>(n_panels * groups_ * 2 * panel));
    }

    int64_t step() const { return step_; }
    float* row(int64_t place) { return rows_.get(0) + place * step_; }

    // Lays out panel p, whose rows have been written.
    void pack(int64_t p) {
        for (int64_t l = 0; l < panel; l++) {
            const float* from = row(p * panel + l);
            float* to = columns_.get(0) + p * panel * groups_ * k_ + l;
            for (int64_t i = 0; i < groups_ * k_; i++) to[i * panel] = from[i];
            for (int64_t g = 0; g < groups_; g++) {
                const Moments m(from + g * k_, k_);
                moments(p, g)[l] = m.mean;
                moments(p, g)[panel + l] = m.deviation;
            }
        }
    }

    UserBound bound(const float* user) const {
        UserBound b;
        b.least = (1 + weight_ * offset_) * (1 - slack);
        b.low0 = b.least;
        b.high0 = (1 + weight_ * offset_) * (1 + slack);
        for (int64_t g = 0; g < groups_; g++) {
            const Moments m(user + g * k_, k_);
            const auto i = static_cast<size_t>(g);
            b.low_mean[i] = weight_ * m.total * (1 - slack);
            b.high_mean[i] = weight_ * m.total * (1 + slack);
            b.high_deviation[i] = weight_ * m.deviation * (1 + slack) + slack * b.high_mean[i];
            b.low_deviation[i] = -b.high_deviation[i];
        }
        return b;
    }

    // Which cells of vector v of panel p may score above `worst`, if their means are m.
    uint32_t hopeful(const UserBound& b, int64_t p, int v, Lanes m, float worst) {
        const bool above_zero = worst >= 0;
        const auto& mean = above_zero ? b.low_mean : b.high_mean;
        const auto& deviation = above_zero ? b.low_deviation : b.high_deviation;
        Lanes square = formula::all<Lanes>(above_zero ? b.low0 : b.high0);
        for (int64_t g = 0; g < groups_; g++) {
            const float* of = moments(p, g) + v * lanes;
            square = mul_add(formula::all<Lanes>(mean[static_cast<size_t>(g)]), load<Lanes>(of), square);
            square = mul_add(formula::all<Lanes>(deviation[static_cast<size_t>(g)]), load<Lanes>(of + panel), square);
        }
        square = greater(square, formula::all<Lanes>(b.least));
        const uint32_t positive = above(m, Lanes{});
        if (above_zero) return positive & above(m * m, square * (worst * worst * (1 - slack)));
        return positive | above(square * (worst * worst * (1 + slack)), m * m);
    }

    // The score of one cell; `user` has step() numbers.
    float score(const float* user, int64_t place, float mean) {
        Lanes sum{};
        const float* item = row(place);
        for (int64_t i = 0; i < step_; i += lanes) sum = mul_add(load<Lanes>(user + i), load<Lanes>(item + i), sum);
        return mean / std::sqrt(1 + weight_ * (offset_ + dyads::sum(sum)));
    }

    // Those of a whole panel.
    void scores(const float* user, int64_t p, const Lanes* mean, Lanes* to) {
        const auto tile = product<1>(user, 1, columns_.get(0) + p * panel * groups_ * k_, groups_ * k_);
        for (int v = 0; v < vectors; v++)
            to[v] = mean[v] / formula::Number<Lanes>::root((tile.x[0][v] + offset_) * weight_ + 1.0f);
    }

  private:
    float* moments(int64_t p, int64_t g) { return moments_.data() + (p * groups_ + g) * 2 * panel; }

    int64_t groups_ = 0, k_ = 0, step_ = 0;
    float offset_ = 0, weight_ = 0;
    Scratch<float> rows_, columns_;
    std::vector<float> moments_;
};

}  // namespace dyads::topn
