#include "team.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace dyads {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto check_every = std::chrono::milliseconds(30);
constexpr int64_t interrupted = -1;  // in the place of a shard's number, so it comes before every shard

std::atomic<int64_t> longest_delay{0};

}  // namespace

void delay(int64_t shard) {
    const int64_t longest = longest_delay.load(std::memory_order_relaxed);
    if (longest == 0) return;
    static std::atomic<uint64_t> calls{0};
    const uint64_t mixed = (static_cast<uint64_t>(shard) + calls++ * 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9;
    const auto wait = static_cast<int64_t>((mixed >> 32) % static_cast<uint64_t>(longest));
    std::this_thread::sleep_for(std::chrono::microseconds(wait));
}

struct Job {
    const Shard& run;
    const int64_t n;
    std::atomic<int64_t> next{0};
    std::atomic<bool> stopped{false};
    int open = 0, inside = 0;  // helpers that may still join, and those at work: under the team's mutex
    std::condition_variable left;
    std::mutex failing;
    int64_t failed_shard = 0;
    std::exception_ptr failure;

    Job(const Shard& run, int64_t n) : run(run), n(n) {}

    void fail(int64_t shard) {
        const std::lock_guard lock(failing);
        if (!failure || shard < failed_shard) {
            failure = std::current_exception();
            failed_shard = shard;
        }
        stopped = true;
    }

    void work(Stop& stop) {
        while (!stop.asked()) {
            const int64_t shard = next++;
            if (shard >= n) return;
            try {
                delay(shard);
                run(shard, stop);
            } catch (...) {
                fail(shard);
            }
        }
    }
};

Stop::Stop(Job& job, void (*check)()) : job_(job), check_(check), next_check_(Clock::now() + check_every) {}

bool Stop::asked() {
    if (check_ != nullptr && Clock::now() >= next_check_) {
        try {
            check_();
        } catch (...) {
            job_.fail(interrupted);
        }
        next_check_ = Clock::now() + check_every;
    }
    return job_.stopped.load(std::memory_order_relaxed);
}

namespace {

// Threads that wait for jobs until the process ends. Never destroyed: they are detached, and after a fork nothing can
// be known about the locks of the old team.
class Team {
  public:
    void run(Job& job, int helpers, void (*check)()) {
        open(job, helpers);
        Stop stop(job, check);
        job.work(stop);
        close(job, stop);
    }

  private:
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Job*> waiting_;
    int size_ = 0;

    void open(Job& job, int helpers) {
        if (helpers <= 0) return;
        const std::lock_guard lock(mutex_);
        while (size_ < helpers && start()) size_++;
        job.open = std::min(helpers, size_);
        if (job.open == 0) return;
        waiting_.push_back(&job);
        for (int i = 0; i < job.open; i++) wake_.notify_one();
    }

    // No more helpers; waits for those at work.
    void close(Job& job, Stop& stop) {
        std::unique_lock lock(mutex_);
        if (job.open > 0) waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &job));
        while (job.inside > 0) {
            job.left.wait_for(lock, check_every);
            lock.unlock();  // the check may wait for Python's lock, and its holder for ours
            stop.asked();
            lock.lock();
        }
    }

    // False where the system gives no more threads: then fewer do the work. Signals stay with the threads of Python.
    bool start() {
        sigset_t every, before;
        sigfillset(&every);
        pthread_sigmask(SIG_SETMASK, &every, &before);
        bool started = true;
        try {
            std::thread([this] { help(); }).detach();
        } catch (const std::system_error&) {
            started = false;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return started;
    }

    [[noreturn]] void help() {
        std::unique_lock lock(mutex_);
        for (;;) {
            wake_.wait(lock, [this] { return !waiting_.empty(); });
            Job& job = *waiting_.front();
            if (--job.open == 0) waiting_.pop_front();
            job.inside++;
            lock.unlock();
            Stop stop(job, nullptr);
            job.work(stop);
            lock.lock();
            if (--job.inside == 0) job.left.notify_one();
        }
    }
};

std::atomic<Team*> current{nullptr};

Team& team() {
    static const int forgets = pthread_atfork(nullptr, nullptr, [] { current = nullptr; });
    static_cast<void>(forgets);
    Team* found = current;
    if (found != nullptr) return *found;
    Team* fresh = new Team;
    if (current.compare_exchange_strong(found, fresh)) return *fresh;
    delete fresh;
    return *found;
}

}  // namespace

void for_each_shard(int64_t n, int threads, const Shard& run, void (*check)()) {
    Job job(run, n);
    const auto helpers = static_cast<int>(std::min<int64_t>(threads, n)) - 1;
    team().run(job, helpers, check);
    if (job.failure) std::rethrow_exception(job.failure);
}

void delay_shards(int64_t microseconds) { longest_delay = microseconds; }

}  // namespace dyads
