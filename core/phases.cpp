#include "phases.hpp"

#include <chrono>
#include <thread>

namespace dyads {
namespace {

constexpr int64_t phase_step = 1024;
static_assert(Phases::most_pieces < phase_step);

// Waits a little longer each time: phases follow each other within microseconds, unless a core is taken away.
class Wait {
  public:
    void once() {
        if (++times_ < 2000) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else if (times_ < 4000) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
    bool long_since() const { return times_ % 256 == 0 || times_ >= 4000; }

  private:
    int times_ = 0;
};

}  // namespace

// A piece belongs to the phase that stands in its place. A thread that comes late, with an older phase, finds all the
// pieces of that one taken.
bool Phases::take(int64_t phase, int64_t piece) {
    int64_t before = taken_[piece].load(std::memory_order_relaxed);
    return before < phase && taken_[piece].compare_exchange_strong(before, phase, std::memory_order_acq_rel);
}

void Phases::run_piece(int64_t piece) {
    try {
        delay(piece);
        (*piece_)(piece);
    } catch (...) {
        const std::lock_guard lock(failing_);
        if (!failure_) failure_ = std::current_exception();
    }
    done_.fetch_add(1, std::memory_order_release);
}

void Phases::work(int64_t phase, int64_t place) {
    const int64_t n = phase % phase_step, own = n * place / threads_;
    for (int64_t k = 0; k < n; k++) {
        const int64_t piece = own + k < n ? own + k : own + k - n;
        if (take(phase, piece)) run_piece(piece);
    }
}

void Phases::run(int64_t n, const std::function<void(int64_t)>& piece) {
    if (threads_ == 1 || n <= 1) {
        for (int64_t k = 0; k < n; k++) piece(k);
        return;
    }
    const int64_t phase = (phase_.load(std::memory_order_relaxed) / phase_step + 1) * phase_step + n;
    piece_ = &piece;
    done_.store(0, std::memory_order_relaxed);
    phase_.store(phase, std::memory_order_release);
    work(phase, 0);
    for (Wait wait; done_.load(std::memory_order_acquire) < n;) wait.once();
    if (failure_) std::rethrow_exception(failure_);
}

void Phases::follow(int64_t place, Stop& stop) {
    int64_t seen = 0;
    Wait wait;
    while (!ended_.load(std::memory_order_acquire)) {
        const int64_t phase = phase_.load(std::memory_order_acquire);
        if (phase != seen) {
            seen = phase;
            work(phase, place);
            wait = Wait();
        } else {
            wait.once();
            if (wait.long_since()) stop.asked();
        }
    }
}

}  // namespace dyads
