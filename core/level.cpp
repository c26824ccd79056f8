// level.cpp: a module of its own, for any CPU of the architecture, that says which levels this CPU can run.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>

namespace {

struct Registers {
    unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf) {
    Registers r;
    __get_cpuid_count(leaf, 0, &r.a, &r.b, &r.c, &r.d);
    return r;
}

// The registers that the operating system keeps across a switch of threads.
uint64_t kept() {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t{high} << 32 | low;
}

bool all(unsigned bits, unsigned asked) { return (bits & asked) == asked; }

// The levels are those of the x86-64 psABI; 1 is any CPU of the architecture.
int highest() {
    const Registers one = cpuid(1), seven = cpuid(7), extended = cpuid(0x80000001);
    constexpr unsigned v2 = bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT;
    constexpr unsigned v3 = v2 | bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C;
    constexpr unsigned v3_seven = bit_BMI | bit_AVX2 | bit_BMI2;
    constexpr unsigned v4_seven = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
    constexpr unsigned v3_extended = bit_LAHF_LM | bit_ABM;
    constexpr uint64_t ymm = 0x6, zmm = 0xE6;
    if (!all(one.c, v3) || !all(seven.b, v3_seven) || !all(extended.c, v3_extended) || (kept() & ymm) != ymm) return 1;
    return all(seven.b, v4_seven) && (kept() & zmm) == zmm ? 4 : 3;
}

}  // namespace
#else
namespace {
int highest() { return 1; }
}  // namespace
#endif

namespace {

PyObject* supported(PyObject*, PyObject*) {
    switch (highest()) {
        case 4:
            return Py_BuildValue("(sss)", "v1", "v3", "v4");
        case 3:
            return Py_BuildValue("(ss)", "v1", "v3");
        default:
            return Py_BuildValue("(s)", "v1");
    }
}

PyMethodDef methods[] = {
    {"supported", supported, METH_NOARGS, "The levels that this CPU and its operating system can run."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_level", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__level() { return PyModule_Create(&module); }
