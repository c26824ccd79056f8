// phases.hpp: many short parallel phases one after the other, without putting anybody to sleep between them.
//
// One thread leads: it names the pieces of a phase, works on them, and goes on when all are done. Others follow. A
// piece is taken by whoever comes first, everyone beginning with those of its own place, so that the same rows tend to
// stay with the same core; a follower that is late or missing costs speed and never a result. Beside the phases there
// is work that is needed later, for followers who find nothing else to do.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "team.hpp"

namespace dyads {

using Piece = std::function<void(int64_t)>;

// The pieces 0 .. n - 1 of one phase after the other.
class Pieces {
  public:
    static constexpr int64_t most = 256;

    // The leader's: names new pieces, when the old ones are finished. `piece` must stay until these are.
    void publish(int64_t n, const Piece& piece);

    // Anyone's: takes at most `limit` pieces that nobody has and runs them, beginning at `first`. False if none was
    // left.
    bool work(int64_t limit, int64_t place, int64_t places);

    // The leader's: returns when all have ended.
    void settle(int64_t place, int64_t places);

    // The same; of several exceptions one comes back.
    void finish(int64_t place, int64_t places);

  private:
    bool take(int64_t phase, int64_t piece);
    void run(int64_t piece);

    const Piece* piece_ = nullptr;
    std::mutex failing_;
    std::exception_ptr failure_;
    alignas(64) std::atomic<int64_t> phase_{0};  // its number times 1024, and how many pieces it has
    alignas(64) std::atomic<int64_t> done_{0};
    alignas(64) std::atomic<int64_t> left_{0};  // at most so many are not taken
    alignas(64) std::atomic<int64_t> taken_[most]{};
};

class Phases {
  public:
    explicit Phases(int threads) : threads_(threads) {}

    int threads() const { return threads_; }

    // The leader's: runs piece(0) .. piece(n - 1), n <= Pieces::most, and returns when all have ended.
    void run(int64_t n, const Piece& piece);

    // The leader's: the same pieces, but at leisure until `finish_later`.
    void run_later(int64_t n, const Piece& piece);
    void finish_later() { later_.finish(0, threads_); }
    void settle_later() { later_.settle(0, threads_); }

    // A follower's, until the leader ends.
    void follow(int64_t place, Stop& stop);

    void end() { ended_.store(true, std::memory_order_release); }

  private:
    const int threads_;
    Pieces now_, later_;
    alignas(64) std::atomic<bool> ended_{false};
};

// Runs lead(phases, stop) on one thread of a job of `threads` shards, the others follow. `run_job(n, threads, shard)`
// is for_each_shard or what stands before it.
template <class Lead, class RunJob>
void run_phases(int threads, Lead lead, RunJob run_job) {
    Phases phases(threads);
    struct Ending {
        Phases& phases;
        ~Ending() { phases.end(); }
    };
    run_job(threads, threads, [&](int64_t shard, Stop& stop) {
        if (shard > 0) return phases.follow(shard, stop);
        const Ending ending{phases};
        lead(phases, stop);
    });
}

}  // namespace dyads
