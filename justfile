# The chores of this project; `just` lists them. Needs an environment with the `dev` extra: `pip install -e '.[dev]'`.

python := env("PYTHON", "python3")

_list:
    @just --list

# Format everything.
format:
    ruff format
    ruff check --fix --quiet
    clang-format -i core/*.cpp core/*.hpp core/formula/*.hpp

# Everything that reads the code without running it.
check:
    ruff format --check
    ruff check
    clang-format --dry-run --Werror core/*.cpp core/*.hpp core/formula/*.hpp
    mypy

# The fast tests.
test *args:
    pytest {{ args }}

# The tests that take minutes; those on real data need DYADS_DATA.
test-slow *args:
    pytest -m slow {{ args }}

# The fast tests on the NumPy twins alone.
test-twins *args:
    DYADS_KERNELS=reference pytest {{ args }}

# The tests of the compiled core under the address, undefined-behaviour and thread sanitizers.
sanitize: (_sanitized "address,undefined" "libasan.so libubsan.so") (_sanitized "thread" "libtsan.so")

# An environment of its own, which sees the packages of this one and the core that is built into it. The sanitizer's
# runtime has to be loaded before Python; leaks are Python's own affair, and so are the threads of NumPy's BLAS.
_sanitized what runtimes:
    #!/usr/bin/env bash
    set -euo pipefail
    folder="build/sanitize-$(tr , - <<< '{{ what }}')"
    {{ python }} -m venv --clear --without-pip "$folder/env"
    site=$("$folder/env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    {{ python }} -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$site/packages.pth"
    DYADS_NATIVE=1 {{ python }} -m pip install --quiet --no-build-isolation --no-deps --target "$site" \
        -C build-dir="$folder/cmake" -C cmake.define.DYADS_SANITIZE='{{ what }}' -C install.strip=false .
    loaded=""
    for runtime in {{ runtimes }} libstdc++.so; do loaded+="$(g++ -print-file-name=$runtime) "; done
    export LD_PRELOAD="$loaded" PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1
    export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:die_after_fork=0
    "$folder/env/bin/python" -m pytest -q -p no:cacheprovider tests/core
