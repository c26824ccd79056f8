// topn.cpp: the best items of many users: searched in float32, scored again in float64.
//
// A few more are searched than were asked for. What is left out cannot exceed the worst of them by more than the error
// of float32, and that bound goes back with the scores: whoever asks can tell whether the order is beyond doubt.
#include <nanobind/stl/optional.h>

#include <optional>
#include <vector>

#include "python.hpp"
#include "search.hpp"

namespace dyads::topn {
namespace {

// C components of K columns each, laid end to end: u · v, times the item's rate where there is one. With rates the
// offsets are a column more.
class MeanTerms final : public Terms {
  public:
    const double* users;
    const float* items;
    const double *offsets, *rates;  // rates null: all one
    int64_t components, n_users, n_items, k;

    int64_t size() const override { return components * k + (rates ? 1 : 0); }

    void user(int64_t u, float* to, int64_t step) const override {
        for (int64_t c = 0; c < components; c++)
            for (int64_t i = 0; i < k; i++, to += step) *to = static_cast<float>(users[(c * n_users + u) * k + i]);
        if (rates) *to = 1;
    }

    void item(int64_t j, float* to, int64_t step) const override {
        double last = 0;
        for (int64_t c = 0; c < components; c++) {
            const double rate = rates ? rates[c * n_items + j] : 1.0;
            const float* from = items + (c * n_items + j) * k;
            for (int64_t i = 0; i < k; i++, to += step) *to = static_cast<float>(rate * static_cast<double>(from[i]));
            last += rate * offsets[c];
        }
        if (rates) *to = static_cast<float>(last);
    }

    double length(int64_t u) const {
        double square = rates ? 1 : 0;
        for (int64_t c = 0; c < components; c++)
            for (int64_t i = 0; i < k; i++) {
                const double x = users[(c * n_users + u) * k + i];
                square += x * x;
            }
        return std::sqrt(square);
    }

    // The mean over components.
    double exact(int64_t u, int64_t j) const {
        double total = 0;
        for (int64_t c = 0; c < components; c++) {
            const double* left = users + (c * n_users + u) * k;
            const float* right = items + (c * n_items + j) * k;
            double sum = 0;
            for (int64_t i = 0; i < k; i++) sum += left[i] * static_cast<double>(right[i]);
            total += (rates ? rates[c * n_items + j] : 1.0) * (offsets[c] + sum);
        }
        return total / static_cast<double>(components);
    }
};

// us · v² and (u² + us) · vs, as far as there are variances.
class VarianceTerms final : public Terms {
  public:
    const double *users, *user_variances;  // (n, K); the second may be null
    const float *items, *item_variances;   // (J, K); the second may be null
    int64_t k;

    int64_t size() const override { return (user_variances ? k : 0) + (item_variances ? k : 0); }

    void user(int64_t u, float* to, int64_t step) const override {
        each(u, 0, [&](double left, double) {
            *to = static_cast<float>(left);
            to += step;
        });
    }

    void item(int64_t j, float* to, int64_t step) const override {
        each(0, j, [&](double, double right) {
            *to = static_cast<float>(right);
            to += step;
        });
    }

    double exact(int64_t u, int64_t j) const {
        double total = 0;
        each(u, j, [&](double left, double right) { total += left * right; });
        return total;
    }

    double length(int64_t u) const {
        double square = 0;
        each(u, 0, [&](double left, double) { square += left * left; });
        return std::sqrt(square);
    }

  private:
    template <class Take>
    void each(int64_t u, int64_t j, Take take) const {
        const double *mean = users + u * k, *spread = user_variances ? user_variances + u * k : nullptr;
        if (spread)
            for (int64_t i = 0; i < k; i++) {
                const auto v = static_cast<double>(items[j * k + i]);
                take(spread[i], v * v);
            }
        if (item_variances)
            for (int64_t i = 0; i < k; i++)
                take(mean[i] * mean[i] + (spread ? spread[i] : 0.0), static_cast<double>(item_variances[j * k + i]));
    }
};

struct Scored {
    double score;
    int64_t item;
    bool operator<(const Scored& other) const {
        return score > other.score || (score == other.score && item < other.item);
    }
};

struct Given {
    MeanTerms mean;
    VarianceTerms variance;
    double offset_variance, weight;
    Field field;

    bool spreads() const { return variance.size() > 0; }

    double exact(int64_t u, int64_t j) const {
        const double s = offset_variance + (spreads() ? variance.exact(u, j) : 0.0);
        return mean.exact(u, j) / std::sqrt(1.0 + weight * s);
    }

    // What an item that is not among the best of user u can reach, if `worst` is the least score that is.
    double reach(const Search& search, int64_t u, double worst) const {
        const double most = mean.length(u) * search.longest_mean(), means = share_of_error(mean.size()) * most + 1e-30;
        if (!spreads()) {
            // the search added components up and left a constant offset and root away
            const double constant = mean.rates ? 0.0 : offsets();
            return (worst + means + constant) / static_cast<double>(mean.components) /
                   std::sqrt(1.0 + weight * offset_variance);
        }
        const double none = 0.0 * (variance.length(u) * search.longest_variance());  // NaN for what is no number
        return worst + means + none + (share_of_error(variance.size()) + 0x1p-20) * (most + std::abs(offsets()));
    }

    double offsets() const {
        double total = 0;
        for (int64_t c = 0; c < mean.components; c++) total += mean.offsets[c];
        return total;
    }
};

void finish(const Given& given, Search& search, int64_t u, int64_t n_best, int64_t* items, double* scores,
            double* reach) {
    const Best best = search.best(u);
    std::vector<Scored> found;
    for (int64_t i = 0; i < n_best && best.place[i] >= 0; i++) {
        const int64_t item = given.field.item(best.place[i]);
        found.push_back({given.exact(u, item), item});
    }
    std::sort(found.begin(), found.end());
    for (size_t i = 0; i < static_cast<size_t>(n_best); i++) {
        items[i] = i < found.size() ? found[i].item : -1;
        scores[i] = i < found.size() ? found[i].score : -std::numeric_limits<double>::infinity();
    }
    // One that is no number never enters, and one without bound may be left out: both show in the bound.
    *reach = given.reach(search, u, static_cast<double>(best.worst()));
}

template <class T, int dimensions>
using Maybe = std::optional<Array<const T, dimensions>>;

template <class Found>
auto data_or_null(const Found& found) {
    return found ? found->data() : nullptr;
}

// user (C, n, K), item (C, J, K), offset (C), rate (C, J); user_variance (n, K), item_variance (J, K); `plain` holds
// the offset's variance and c. `numbers`, `scores` (n, M), `reach` (n).
void top_n(Array<const double, 3> user, Array<const float, 3> item, Array<const double, 1> offset,
           Maybe<double, 2> rate, Maybe<double, 2> user_variance, Maybe<float, 2> item_variance,
           Array<const double, 1> plain, Maybe<int64_t, 1> exclude_ptr, Maybe<int32_t, 1> exclude,
           Maybe<int64_t, 1> candidates, Array<int64_t, 2> numbers, Array<double, 2> scores, Array<double, 1> reach,
           int threads) {
    Given given;
    MeanTerms& mean = given.mean;
    mean.users = user.data();
    mean.items = item.data();
    mean.offsets = offset.data();
    mean.rates = data_or_null(rate);
    mean.components = static_cast<int64_t>(item.shape(0));
    mean.n_users = static_cast<int64_t>(user.shape(1));
    mean.n_items = static_cast<int64_t>(item.shape(1));
    mean.k = static_cast<int64_t>(item.shape(2));
    VarianceTerms& variance = given.variance;
    variance.users = user.data();
    variance.user_variances = data_or_null(user_variance);
    variance.items = item.data();
    variance.item_variances = data_or_null(item_variance);
    variance.k = mean.k;
    given.offset_variance = plain.data()[0];
    given.weight = plain.data()[1];
    given.field = {data_or_null(candidates), candidates ? static_cast<int64_t>(candidates->shape(0)) : mean.n_items,
                   data_or_null(exclude_ptr), data_or_null(exclude)};
    const auto n_best = static_cast<int64_t>(numbers.shape(1));
    Search search({mean, given.spreads() ? &variance : nullptr, given.spreads() ? variance.size() / variance.k : 0,
                   static_cast<float>(given.spreads() ? given.offsets() : 0), static_cast<float>(given.offset_variance),
                   static_cast<float>(given.weight), given.field, mean.n_users, n_best});
    for (int64_t b = 0; b < search.n_blocks(); b++) {
        run_shards(search.panels(), threads, [&](int64_t p, Stop&) { search.pack(b, p); });
        search.packed();
        run_shards(search.n_shards(), threads, [&](int64_t shard, Stop&) { search.look(b, shard); });
    }
    run_shards(search.n_shards(), threads, [&](int64_t shard, Stop&) {
        const int64_t first = shard * block_users, last = std::min(mean.n_users, first + block_users);
        for (int64_t u = first; u < last; u++)
            finish(given, search, u, n_best, numbers.data() + u * n_best, scores.data() + u * n_best, reach.data() + u);
    });
}

}  // namespace
}  // namespace dyads::topn

namespace dyads {

void bind_topn(nb::module_& m) {
    m.def("top_n", &topn::top_n, nb::arg("user"), nb::arg("item"), nb::arg("offset"), nb::arg("rate").none(),
          nb::arg("user_variance").none(), nb::arg("item_variance").none(), nb::arg("plain"),
          nb::arg("exclude_ptr").none(), nb::arg("exclude").none(), nb::arg("candidates").none(), nb::arg("numbers"),
          nb::arg("scores"), nb::arg("reach"), nb::arg("threads"));
}

}  // namespace dyads
