// search.hpp: the best items of many users, in float32, with a bound on what was left out.
//
// A block of items is packed, then all users go over it, a shard of them at a time. With variances a score is
// m / sqrt(1 + c s).
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "side.hpp"
#include "spread.hpp"
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
    int64_t groups;                         // products that the variance is the sum of
    float offset, offset_variance, weight;  // of the mean, of the variance, and c
    Field field;
    int64_t n_users, n_best;
};

class Search {
  public:
    explicit Search(const Question& question)
        : q_(question), k_(question.mean.size()), kv_(question.variance ? question.variance->size() : 0) {
        const int64_t n_panels = (q_.field.n + panel - 1) / panel, fit = block_numbers / ((k_ + 2 * kv_ + 1) * panel);
        panels_ = std::max<int64_t>(1, std::min({fit, n_panels, most_panels}));
        means_.get(panels_ * panel * k_);
        lengths_.resize(static_cast<size_t>(panels_));
        if (kv_) spread_.emplace(q_.groups, kv_ / q_.groups, q_.offset_variance, q_.weight, panels_);
        score_.resize(static_cast<size_t>(q_.n_users * q_.n_best));
        place_.resize(score_.size());
        for (int64_t u = 0; u < q_.n_users; u++) best(u).clear();
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
        const int64_t first = (b * panels_ + p) * panel, n = std::min<int64_t>(panel, q_.field.n - first);
        Lengths& lengths = lengths_[static_cast<size_t>(p)];
        lengths = {};
        float* to = means_.get(0) + p * panel * k_;
        if (n < panel) std::fill_n(to, panel * k_, 0.0f);
        for (int64_t l = 0; l < n; l++) {
            q_.mean.item(q_.field.item(first + l), to + l, panel);
            lengths[0] = longer(lengths[0], length(to + l, k_, panel));
            if (!kv_) continue;
            float* row = spread_->row(p * panel + l);
            q_.variance->item(q_.field.item(first + l), row, 1);
            lengths[1] = longer(lengths[1], length(row, kv_, 1));
        }
        if (kv_ && n > 0) spread_->pack(p);
    }

    // After all panels of a block.
    void packed() {
        for (const Lengths& lengths : lengths_)
            for (size_t i = 0; i < 2; i++) longest_[i] = longer(longest_[i], lengths[i]);
    }

    void look(int64_t b, int64_t shard) {
        const int64_t first = shard * block_users, n = std::min(block_users, q_.n_users - first);
        const Strips means(q_.mean, first, n);
        std::vector<Judge> judges;
        if (kv_)
            for (int64_t u = first; u < first + n; u++) judges.emplace_back(*this, u);
        const int64_t last = std::min(panels_, (q_.field.n - b * panels_ * panel + panel - 1) / panel);
        for (int64_t p = 0; p < last; p++)
            for (int64_t s = 0; s < n; s += strip) {
                const auto tile = product<strip>(means.at(s), strip, means_.get(0) + p * panel * k_, k_);
                for (int64_t u = s; u < std::min(n, s + strip); u++) {
                    if (kv_)
                        judge(judges[static_cast<size_t>(u)], tile.x[u - s], first + u, b, p);
                    else
                        offer(tile.x[u - s], first + u, (b * panels_ + p) * panel);
                }
            }
    }

  private:
    using Lengths = std::array<double, 2>;

    // Users side by side in strips, k outermost.
    class Strips {
      public:
        Strips(const Terms& terms, int64_t first, int64_t n) : k_(terms.size()) {
            data_.assign(static_cast<size_t>((n + strip - 1) / strip * strip * k_), 0.0f);
            for (int64_t u = 0; u < n; u++)
                terms.user(first + u, data_.data() + u / strip * strip * k_ + u % strip, strip);
        }
        const float* at(int64_t u) const { return data_.data() + u * k_; }  // u a multiple of `strip`

      private:
        int64_t k_;
        std::vector<float> data_;
    };

    // What a user brings to the variances of its cells.
    struct Judge {
        std::vector<float> terms;
        UserBound bound;
        Judge(Search& search, int64_t u) : terms(static_cast<size_t>(search.spread_->step())) {
            search.q_.variance->user(u, terms.data(), 1);
            bound = search.spread_->bound(terms.data());
        }
    };

    static double longer(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

    static double length(const float* x, int64_t n, int64_t step) {
        double square = 0;
        for (int64_t i = 0; i < n; i++) square += static_cast<double>(x[i * step]) * static_cast<double>(x[i * step]);
        return std::sqrt(square);
    }

    void judge(const Judge& judge, const Lanes (&x)[vectors], int64_t u, int64_t b, int64_t p) {
        constexpr int many = panel / 4;  // cells from which on a whole panel costs less
        const float worst = best(u).worst();
        Lanes mean[vectors];
        for (int v = 0; v < vectors; v++) mean[v] = x[v] + q_.offset;
        if (worst >= 0 && !any_above(mean, worst * std::sqrt(judge.bound.least))) return;
        uint32_t hopeful[vectors];
        int n = 0;
        for (int v = 0; v < vectors; v++) {
            hopeful[v] = spread_->hopeful(judge.bound, p, v, mean[v], worst);
            n += std::popcount(hopeful[v]);
        }
        const int64_t place = (b * panels_ + p) * panel;
        if (n >= many) {
            Lanes score[vectors];
            spread_->scores(judge.terms.data(), p, mean, score);
            offer(score, u, place);
        } else if (n > 0) {
            enter_some(judge, hopeful, mean, u, place, p);
        }
    }

    [[gnu::noinline]] void enter_some(const Judge& judge, const uint32_t (&hopeful)[vectors],
                                      const Lanes (&mean)[vectors], int64_t u, int64_t place, int64_t p) {
        for (int v = 0; v < vectors; v++)
            for (uint32_t bits = hopeful[v]; bits; bits &= bits - 1) {
                const int l = v * lanes + std::countr_zero(bits);
                enter(spread_->score(judge.terms.data(), p * panel + l, mean[v][l - v * lanes]), u, place + l);
            }
    }

    static bool any_above(const Lanes (&x)[vectors], float least) {
        Lanes most = x[0];
        for (int v = 1; v < vectors; v++) most = greater(x[v], most);
        return above(most, formula::all<Lanes>(least)) != 0;
    }

    void offer(const Lanes (&x)[vectors], int64_t u, int64_t place) {
        if (any_above(x, best(u).worst())) enter_all(x, u, place);
    }

    [[gnu::noinline]] void enter_all(const Lanes (&x)[vectors], int64_t u, int64_t place) {
        for (int v = 0; v < vectors; v++)
            for (uint32_t bits = above(x[v], formula::all<Lanes>(best(u).worst())); bits; bits &= bits - 1) {
                const int l = std::countr_zero(bits);
                enter(x[v][l], u, place + v * lanes + l);
            }
    }

    void enter(float score, int64_t u, int64_t place) {
        Best kept = best(u);
        if (place < q_.field.n && score > kept.worst() && !q_.field.excluded(u, q_.field.item(place)))
            kept.enter(score, static_cast<int32_t>(place));
    }

    const Question q_;
    const int64_t k_, kv_;
    int64_t panels_ = 0;
    Scratch<float> means_;
    std::optional<Spread> spread_;
    std::vector<Lengths> lengths_;
    std::vector<float> score_;
    std::vector<int32_t> place_;
    Lengths longest_{};
};

}  // namespace dyads::topn
