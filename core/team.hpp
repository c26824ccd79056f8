// team.hpp: threads that share the shards of a call.
//
// The shards are fixed by the data, so results never depend on how many threads there are or which of them ends first.
// Several callers may be inside at once, each works on its own shards, and idle threads help any of them. After a fork
// the child starts a team of its own.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace dyads {

struct Job;

// A kernel asks it between blocks whether to leave off: a shard has failed, or the user interrupts.
class Stop {
  public:
    Stop(Job& job, void (*check)());
    bool asked();

  private:
    Job& job_;
    void (*check_)();  // null but in the caller's thread
    std::chrono::steady_clock::time_point next_check_;
};

using Shard = std::function<void(int64_t shard, Stop& stop)>;

// Runs every shard of 0 .. n-1 on the caller's and at most `threads` - 1 more threads. About every 30 ms the caller's
// thread calls `check`, which throws to end the call. Of several exceptions the check's, else the lowest shard's comes
// back.
void for_each_shard(int64_t n, int threads, const Shard& run, void (*check)() = nullptr);

// Tests shuffle the order in which shards end: each waits for a time below this before it starts. 0 switches it off.
void delay_shards(int64_t microseconds);

// Such a wait.
void delay(int64_t shard);

}  // namespace dyads
