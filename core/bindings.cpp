// bindings.cpp: the Python module of one CPU level. A kernel family declares and binds itself in one line each.
#include "python.hpp"
#include "simd.hpp"

namespace dyads {

void bind_bpr(nb::module_& m);
void bind_chains(nb::module_& m);
void bind_formulas(nb::module_& m);
void bind_products(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_sbmf(nb::module_& m);
void bind_team(nb::module_& m);
void bind_topn(nb::module_& m);
void bind_words(nb::module_& m);
void bind_yard(nb::module_& m);

}  // namespace dyads

NB_MODULE(DYADS_MODULE, m) {
    m.attr("lanes") = dyads::lanes;
    m.attr("compiler") = DYADS_COMPILER;
    dyads::bind_bpr(m);
    dyads::bind_chains(m);
    dyads::bind_formulas(m);
    dyads::bind_products(m);
    dyads::bind_rows(m);
    dyads::bind_sbmf(m);
    dyads::bind_team(m);
    dyads::bind_topn(m);
    dyads::bind_words(m);
    dyads::bind_yard(m);
}
