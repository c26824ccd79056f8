// formulas.cpp: the formulas and the moves across lanes by themselves, for the tests of each level.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "formula/circle.hpp"
#include "formula/exp.hpp"
#include "formula/lambda.hpp"
#include "formula/log.hpp"
#include "python.hpp"
#include "simd.hpp"

namespace dyads {
namespace {

template <class T>
T apply(std::string_view name, T x) {
    if (name == "exp") return formula::exp(x);
    if (name == "log") return formula::log(x);
    if (name == "cos") return formula::circle(x).cos;
    if (name == "sin") return formula::circle(x).sin;
    if (name == "lambda") return formula::lambda(x);
    throw std::invalid_argument("no formula is called " + std::string(name));
}

// out[i] = name(x[i]), as one number in float or double.
template <class T>
void apply_each(const char* name, Array<const T, 1> x, Array<T, 1> out) {
    for (size_t i = 0; i < x.shape(0); i++) out.data()[i] = apply(name, x.data()[i]);
}

void apply_lanes(const char* name, Array<const float, 1> x, Array<float, 1> out) {
    const auto n = static_cast<int64_t>(x.shape(0));
    for (int64_t i = 0; i < n; i += lanes)
        store_first(out.data() + i, apply(name, load_first<Lanes>(x.data() + i, std::min<int64_t>(lanes, n - i))),
                    n - i);
}

void transpose_tile(Array<float, 2> tile) {
    if (tile.shape(0) != lanes || tile.shape(1) != lanes) throw std::invalid_argument("a tile is lanes x lanes");
    Lanes rows[lanes];
    for (int r = 0; r < lanes; r++) rows[r] = load<Lanes>(tile.data() + r * lanes);
    transpose(rows);
    for (int r = 0; r < lanes; r++) store(tile.data() + r * lanes, rows[r]);
}

float sum_lanes(Array<const float, 1> x) {
    return sum(load_first<Lanes>(x.data(), std::min<int64_t>(lanes, x.shape(0))));
}

}  // namespace

void bind_formulas(nb::module_& m) {
    m.def("apply_float", &apply_each<float>);
    m.def("apply_double", &apply_each<double>);
    m.def("apply_lanes", &apply_lanes);
    m.def("transpose_tile", &transpose_tile);
    m.def("sum_lanes", &sum_lanes);
}

}  // namespace dyads
