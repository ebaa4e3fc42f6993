// Turns SIGTERM and SIGHUP into bytes in a pipe, so that an ordinary thread can tidy up before they end the
// process. On Windows these are the events of the console: Ctrl-Break, its closing, and the shutdown.
#pragma once

namespace tbq {

// From now on, SIGTERM and SIGHUP write their number as one byte to the pipe `fd` (its writing end), unless
// the signal is already handled or ignored. Any thread may call this; Python's `signal` works on the main
// thread only. In a forked child the signals end the process as usual, until the child calls this itself.
// Returns false if the signals are not caught because other handlers have all of them.
bool catch_termination(int fd);

// Restores the default action, if our handler is still set.
void release_termination();

// Ends this process by the signal `number`, as if it were not caught. Returns only if that is impossible.
void end_by_signal(int number);

}  // namespace tbq
