// topn.cpp: the best items of many users: searched in float32, scored again in float64.
//
// A few more are searched than were asked for. What is left out cannot exceed the worst of them by more than the error
// of float32, and that bound goes back with the scores: whoever asks can tell whether the order is beyond doubt.
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

struct Row {
    int64_t* items;
    double *scores, *reach;
};

void finish(const Given& given, Search& search, int64_t u, int64_t n_best, Row to) {
    const Best best = search.best(u);
    std::vector<Scored> found;
    for (int64_t i = 0; i < n_best && best.place[i] >= 0; i++) {
        const int64_t item = given.field.item(best.place[i]);
        found.push_back({given.exact(u, item), item});
    }
    std::sort(found.begin(), found.end());
    found.resize(static_cast<size_t>(n_best), {-std::numeric_limits<double>::infinity(), -1});
    for (size_t i = 0; i < found.size(); i++) {
        to.items[i] = found[i].item;
        to.scores[i] = found[i].score;
    }
    // One that is no number never enters, and one without bound may be left out: both show in the bound.
    *to.reach = given.reach(search, u, static_cast<double>(best.worst()));
}

// TopN (user, item, offset, rate, spread (user, item, offset, weight), link, exclude (ptr, idx, val), candidates, n).
struct Asked {
    template <class T, int dimensions>
    const T* array(nb::handle from) {
        if (from.is_none()) return nullptr;
        return nb::cast<Array<const T, dimensions>>(from, false).data();
    }

    Given operator()(const nb::tuple& ask) {
        Given given;
        const auto user = nb::cast<Array<const double, 3>>(ask[0], false);
        const auto item = nb::cast<Array<const float, 3>>(ask[1], false);
        MeanTerms& mean = given.mean;
        mean.users = user.data();
        mean.items = item.data();
        mean.offsets = array<double, 1>(ask[2]);
        mean.rates = array<double, 2>(ask[3]);
        mean.components = static_cast<int64_t>(item.shape(0));
        mean.n_users = static_cast<int64_t>(user.shape(1));
        mean.n_items = static_cast<int64_t>(item.shape(1));
        mean.k = static_cast<int64_t>(item.shape(2));
        const auto spread = nb::cast<nb::tuple>(ask[4]);
        given.variance.users = mean.users;
        given.variance.user_variances = array<double, 2>(spread[0]);
        given.variance.items = mean.items;
        given.variance.item_variances = array<float, 2>(spread[1]);
        given.variance.k = mean.k;
        given.offset_variance = nb::cast<double>(spread[2]);
        given.weight = nb::cast<double>(spread[3]);
        given.field = field(ask, mean.n_items);
        return given;
    }

    Field field(const nb::tuple& ask, int64_t n_items) {
        Field field{nullptr, n_items, nullptr, nullptr};
        if (!ask[7].is_none()) {
            const auto candidates = nb::cast<Array<const int64_t, 1>>(ask[7], false);
            field.candidates = candidates.data();
            field.n = static_cast<int64_t>(candidates.shape(0));
        }
        if (!ask[6].is_none()) {
            const auto rows = nb::cast<nb::tuple>(ask[6]);
            field.exclude_ptr = array<int64_t, 1>(rows[0]);
            field.exclude = array<int32_t, 1>(rows[1]);
        }
        return field;
    }
};

// `numbers`, `scores` (n, M), `reach` (n).
void top_n(const nb::tuple& ask, Array<int64_t, 2> numbers, Array<double, 2> scores, Array<double, 1> reach,
           int threads) {
    const Given given = Asked()(ask);
    const auto n_best = static_cast<int64_t>(numbers.shape(1)), n_users = given.mean.n_users;
    const bool spreads = given.spreads();
    Search search({given.mean, spreads ? &given.variance : nullptr,
                   spreads ? given.variance.size() / given.variance.k : 0,
                   static_cast<float>(spreads ? given.offsets() : 0), static_cast<float>(given.offset_variance),
                   static_cast<float>(given.weight), given.field, n_users, n_best});
    for (int64_t b = 0; b < search.n_blocks(); b++) {
        run_shards(search.panels(), threads, [&](int64_t p, Stop&) { search.pack(b, p); });
        search.packed();
        run_shards(search.n_shards(), threads, [&](int64_t shard, Stop&) { search.look(b, shard); });
    }
    run_shards(search.n_shards(), threads, [&](int64_t shard, Stop&) {
        const int64_t first = shard * block_users, last = std::min(n_users, first + block_users);
        for (int64_t u = first; u < last; u++)
            finish(given, search, u, n_best,
                   {numbers.data() + u * n_best, scores.data() + u * n_best, reach.data() + u});
    });
}

}  // namespace
}  // namespace dyads::topn

namespace dyads {

void bind_topn(nb::module_& m) { m.def("top_n", &topn::top_n); }

}  // namespace dyads
