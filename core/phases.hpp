// phases.hpp: many short parallel phases one after the other, without putting anybody to sleep between them.
//
// One thread leads: it names the pieces of a phase, works on them, and goes on when all are done. Others follow. A
// piece is taken by whoever comes first, everyone beginning with those of its own place, so that the same rows tend to
// stay with the same core; a follower that is late or missing costs speed and never a result.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "team.hpp"

namespace dyads {

class Phases {
  public:
    static constexpr int most_pieces = 256;

    explicit Phases(int threads) : threads_(threads) {}

    int threads() const { return threads_; }

    // The leader's: runs piece(0) .. piece(n - 1), n <= most_pieces, and returns when all have ended. Of several
    // exceptions one comes back.
    void run(int64_t n, const std::function<void(int64_t)>& piece);

    // A follower's, until the leader ends.
    void follow(int64_t place, Stop& stop);

    void end() { ended_.store(true, std::memory_order_release); }

  private:
    void work(int64_t phase, int64_t place);
    bool take(int64_t phase, int64_t piece);
    void run_piece(int64_t piece);

    const int threads_;
    const std::function<void(int64_t)>* piece_ = nullptr;
    std::mutex failing_;
    std::exception_ptr failure_;
    alignas(64) std::atomic<int64_t> phase_{0};  // its number times 1024, and how many pieces it has
    alignas(64) std::atomic<int64_t> done_{0};
    alignas(64) std::atomic<bool> ended_{false};
    alignas(64) std::atomic<int64_t> taken_[most_pieces]{};
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
