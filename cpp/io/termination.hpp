// SIGTERM and SIGHUP as bytes in a pipe, so that an ordinary thread can tidy up before they end the process.
#pragma once

namespace tbq {

// From now on, SIGTERM and SIGHUP write their number as one byte to the pipe `fd` (its writing end), if
// nobody else handles or ignores them. Any thread may call this, which Python's `signal` forbids. A forked
// child is not caught until it calls this itself: there, the signals end the process as if nothing was set.
// False if the signals are not caught: another handler has them all, or this system has no such signals.
bool catch_termination(int fd);

// Back to the default, if the handler is still the one above.
void release_termination();

// End this process by the signal `number`, as if nothing had caught it. Returns only if that is impossible.
void end_by_signal(int number);

}  // namespace tbq
