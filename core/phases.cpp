#include "phases.hpp"

#include <chrono>
#include <thread>

namespace dyads {
namespace {

constexpr int64_t phase_step = 1024;
static_assert(Pieces::most < phase_step);

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

void Pieces::publish(int64_t n, const Piece& piece) {
    const int64_t phase = (phase_.load(std::memory_order_relaxed) / phase_step + 1) * phase_step + n;
    piece_ = &piece;
    done_.store(0, std::memory_order_relaxed);
    left_.store(n, std::memory_order_relaxed);
    phase_.store(phase, std::memory_order_release);
}

// A piece belongs to the phase that stands in its place. A thread that comes late, with an older phase, finds all the
// pieces of that one taken.
bool Pieces::take(int64_t phase, int64_t piece) {
    int64_t before = taken_[piece].load(std::memory_order_relaxed);
    return before < phase && taken_[piece].compare_exchange_strong(before, phase, std::memory_order_acq_rel);
}

void Pieces::run(int64_t piece) {
    try {
        delay(piece);
        (*piece_)(piece);
    } catch (...) {
        const std::lock_guard lock(failing_);
        if (!failure_) failure_ = std::current_exception();
    }
    done_.fetch_add(1, std::memory_order_release);
}

bool Pieces::work(int64_t limit, int64_t place, int64_t places) {
    const int64_t phase = phase_.load(std::memory_order_acquire), n = phase % phase_step;
    if (left_.load(std::memory_order_relaxed) <= 0) return false;
    int64_t done = 0;
    for (int64_t k = 0, piece = n * place / places; k < n && done < limit; k++, piece = piece + 1 < n ? piece + 1 : 0) {
        if (!take(phase, piece)) continue;
        left_.fetch_sub(1, std::memory_order_relaxed);
        run(piece);
        done++;
    }
    return done > 0;
}

void Pieces::settle(int64_t place, int64_t places) {
    const int64_t n = phase_.load(std::memory_order_relaxed) % phase_step;
    while (work(n, place, places)) {
    }
    for (Wait wait; done_.load(std::memory_order_acquire) < n;) wait.once();
}

void Pieces::finish(int64_t place, int64_t places) {
    settle(place, places);
    if (failure_) std::rethrow_exception(failure_);
}

void Phases::run(int64_t n, const Piece& piece) {
    if (threads_ == 1 || n <= 1) {
        for (int64_t k = 0; k < n; k++) piece(k);
        return;
    }
    now_.publish(n, piece);
    now_.finish(0, threads_);
}

void Phases::run_later(int64_t n, const Piece& piece) { later_.publish(n, piece); }

void Phases::follow(int64_t place, Stop& stop) {
    Wait wait;
    while (!ended_.load(std::memory_order_acquire)) {
        if (now_.work(Pieces::most, place, threads_) || later_.work(1, place, threads_)) {
            wait = Wait();
        } else {
            wait.once();
            if (wait.long_since()) stop.asked();
        }
    }
}

}  // namespace dyads
