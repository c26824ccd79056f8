// search.hpp: the best items of many users, in float32, with a bound on what was left out.
//
// A block of items is packed, then all users go over it, a shard of them at a time. With variances a score is
// m / sqrt(1 + c s): the variance s of a cell is computed only where the mean m could still carry it above the user's
// worst kept score, judged by the least and the greatest variance in its panel.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "side.hpp"
#include "topn.hpp"

namespace dyads::topn {

inline constexpr int64_t block_users = 128;
inline constexpr int64_t block_numbers = 1 << 22;  // in a block of packed items
inline constexpr int64_t most_panels = 64;

// Candidates, and for each user the items that are none.
struct Field {
    const int64_t* candidates;   // ascending; null: all items
    int64_t n;                   // how many
    const int64_t* exclude_ptr;  // null: none
    const int32_t* exclude;

    int64_t item(int64_t place) const { return candidates ? candidates[place] : place; }
    bool excluded(int64_t user, int64_t item) const {
        return exclude_ptr && std::binary_search(exclude + exclude_ptr[user], exclude + exclude_ptr[user + 1],
                                                 static_cast<int32_t>(item));
    }
};

// Two factors of a product over k: one number for each user, one for each item.
class Terms {
  public:
    virtual ~Terms() = default;
    virtual int64_t size() const = 0;
    virtual void user(int64_t u, float* to, int64_t step) const = 0;  // to[k step]
    virtual void item(int64_t i, float* to, int64_t step) const = 0;
};

struct Question {
    const Terms& mean;
    const Terms* variance;                  // null: ranked by the mean
    float offset, offset_variance, weight;  // of the mean, of the variance, and c
    Field field;
    int64_t n_users, n_best;
};

class Search {
  public:
    explicit Search(const Question& question)
        : q_(question), k_(question.mean.size()), kv_(question.variance ? question.variance->size() : 0) {
        const int64_t n_panels = (q_.field.n + panel - 1) / panel, fit = block_numbers / ((k_ + kv_ + 1) * panel);
        panels_ = std::clamp<int64_t>(std::min(fit, n_panels), 1, most_panels);
        means_.get(panels_ * panel * k_);
        lengths_.resize(static_cast<size_t>(panels_));
        score_.resize(static_cast<size_t>(q_.n_users * q_.n_best));
        place_.resize(score_.size());
        for (int64_t u = 0; u < q_.n_users; u++) best(u).clear();
        if (!kv_) return;
        variances_.get(panels_ * panel * kv_);
        const int64_t extremes = (2 * panels_ + panel - 1) / panel * panel * kv_;
        std::fill_n(extremes_.get(extremes), extremes, 0.0f);
    }

    int64_t n_blocks() const { return (q_.field.n + panels_ * panel - 1) / (panels_ * panel); }
    int64_t panels() const { return panels_; }
    int64_t n_shards() const { return (q_.n_users + block_users - 1) / block_users; }
    Best best(int64_t u) { return {score_.data() + u * q_.n_best, place_.data() + u * q_.n_best, q_.n_best}; }
    // The greatest length of an item's terms, of the mean's and of the variance's; NaN if any is.
    double longest_mean() const { return longest_[0]; }
    double longest_variance() const { return longest_[1]; }

    // Panel p of block b.
    void pack(int64_t b, int64_t p) {
        const int64_t first = (b * panels_ + p) * panel;
        Lengths& lengths = lengths_[static_cast<size_t>(p)];
        lengths[0] = pack_items(q_.mean, first, means_.get(0) + p * panel * k_, k_);
        if (!kv_) return;
        lengths[1] = pack_items(*q_.variance, first, variances_.get(0) + p * panel * kv_, kv_);
        pack_extremes(p, std::min<int64_t>(panel, q_.field.n - first));
    }

    // After all panels of a block.
    void packed() {
        for (const Lengths& lengths : lengths_)
            for (size_t i = 0; i < 2; i++) longest_[i] = longer(longest_[i], lengths[i]);
    }

    void look(int64_t b, int64_t shard) {
        const int64_t first = shard * block_users, n = std::min(block_users, q_.n_users - first);
        Strips mean(q_.mean, first, n), variance;
        std::vector<float> roots;
        if (kv_) {
            variance = Strips(*q_.variance, first, n);
            roots = bounds(variance, n);
        }
        const int64_t last = std::min(panels_, (q_.field.n - b * panels_ * panel + panel - 1) / panel);
        for (int64_t p = 0; p < last; p++)
            for (int64_t s = 0; s < n; s += strip) {
                const auto tile = product<strip>(mean.at(s), strip, means_.get(0) + p * panel * k_, k_);
                for (int64_t u = s; u < std::min(n, s + strip); u++) {
                    const Lanes(&x)[vectors] = tile.x[u - s];
                    const int64_t place = (b * panels_ + p) * panel;
                    if (kv_)
                        judge(x, variance.at(s) + (u - s), roots.data() + (u * panels_ + p) * 2, first + u, place, p);
                    else
                        offer(x, first + u, place);
                }
            }
    }

  private:
    // Users side by side in strips, k outermost.
    class Strips {
      public:
        Strips() = default;
        Strips(const Terms& terms, int64_t first, int64_t n) : k_(terms.size()) {
            data_.assign(static_cast<size_t>((n + strip - 1) / strip * strip * k_), 0.0f);
            for (int64_t u = 0; u < n; u++)
                terms.user(first + u, data_.data() + u / strip * strip * k_ + u % strip, strip);
        }
        const float* at(int64_t u) const { return data_.data() + u * k_; }  // u a multiple of `strip`

      private:
        int64_t k_ = 0;
        std::vector<float> data_;
    };

    using Lengths = std::array<double, 2>;

    static double longer(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

    // Gives the greatest length.
    double pack_items(const Terms& terms, int64_t first, float* to, int64_t k) const {
        double longest = 0;
        for (int64_t l = 0; l < panel; l++, to++) {
            if (first + l < q_.field.n)
                terms.item(q_.field.item(first + l), to, panel);
            else
                for (int64_t i = 0; i < k; i++) to[i * panel] = 0;
            double square = 0;
            for (int64_t i = 0; i < k; i++) square += static_cast<double>(to[i * panel]) * to[i * panel];
            longest = longer(longest, std::sqrt(square));
        }
        return longest;
    }

    // The least and the greatest of every term in a panel of n items, as two items more.
    void pack_extremes(int64_t p, int64_t n) {
        for (int64_t k = 0; k < kv_; k++) {
            const float* x = variances_.get(0) + (p * kv_ + k) * panel;
            float* to = extremes_.get(0) + (2 * p / panel * kv_ + k) * panel + 2 * p % panel;
            const auto [low, high] = std::minmax_element(x, x + std::max<int64_t>(n, 1));
            to[0] = *low;
            to[1] = *high;
        }
    }

    // sqrt(1 + c s) at both ends of every panel for every user, a little further apart than they are.
    std::vector<float> bounds(const Strips& users, int64_t n) {
        const auto slack = static_cast<float>(4 * share_of_error(kv_));
        std::vector<float> roots(static_cast<size_t>((n + strip) * panels_ * 2));
        for (int64_t first = 0; first < 2 * panels_; first += panel)
            for (int64_t s = 0; s < n; s += strip) {
                const auto tile = product<strip>(users.at(s), strip, extremes_.get(0) + first * kv_, kv_);
                for (int64_t u = 0; u < strip; u++)
                    for (int64_t l = 0; l < std::min<int64_t>(panel, 2 * panels_ - first); l++) {
                        const float variance = tile.x[u][l / lanes][l % lanes] + q_.offset_variance;
                        const float root = std::sqrt(1 + q_.weight * variance);
                        roots[static_cast<size_t>((s + u) * panels_ * 2 + first + l)] =
                            root * (1 + (l % 2 ? slack : -slack));
                    }
            }
        return roots;
    }

    // `user` holds one user's terms of the variance, `strip` apart.
    void judge(const Lanes (&x)[vectors], const float* user, const float* root, int64_t u, int64_t place, int64_t p) {
        const float worst = best(u).worst();
        const float least = worst >= 0 ? worst * root[0] : worst * root[1];
        Lanes mean[vectors];
        for (int v = 0; v < vectors; v++) mean[v] = x[v] + q_.offset;
        if (!above(mean, least)) return;
        const auto variance = product<1>(user, strip, variances_.get(0) + p * panel * kv_, kv_);
        Lanes score[vectors];
        for (int v = 0; v < vectors; v++) {
            const Lanes s = variance.x[0][v] + q_.offset_variance;
            score[v] = mean[v] / formula::Number<Lanes>::root(s * q_.weight + 1.0f);
        }
        offer(score, u, place);
    }

    static bool above(const Lanes (&x)[vectors], float least) {
        Lanes most = x[0];
        for (int v = 1; v < vectors; v++) most = x[v] > most ? x[v] : most;
        return any_above(most, Lanes{} + least);
    }

    void offer(const Lanes (&x)[vectors], int64_t u, int64_t place) {
        if (above(x, best(u).worst())) enter(x, u, place);
    }

    [[gnu::noinline]] void enter(const Lanes (&x)[vectors], int64_t u, int64_t place) {
        float score[panel];
        for (int v = 0; v < vectors; v++) store(score + v * lanes, x[v]);
        Best kept = best(u);
        for (int64_t l = 0; l < std::min<int64_t>(panel, q_.field.n - place); l++)
            if (score[l] > kept.worst() && !q_.field.excluded(u, q_.field.item(place + l)))
                kept.enter(score[l], static_cast<int32_t>(place + l));
    }

    const Question q_;
    const int64_t k_, kv_;
    int64_t panels_ = 0;
    Scratch<float> means_, variances_, extremes_;
    std::vector<Lengths> lengths_;
    std::vector<float> score_;
    std::vector<int32_t> place_;
    Lengths longest_{};
};

}  // namespace dyads::topn
