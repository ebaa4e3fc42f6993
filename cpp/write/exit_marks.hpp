// Appends a mark to event files that says how the process ended, once its exit status is known.
#pragma once

#include <string>

namespace tbq {

// The event to append to a file: its fields after the wall time, for either status.
struct ExitMark {
  std::string path;
  std::string finished;
  std::string failed;
  double wall_time = 0;  // 0 for the time of the exit
};

// Whether a process can learn its own exit status on this system.
bool can_mark_at_exit();

// Appends the mark when the process calls exit(). A file that was deleted is not created again, and a forked
// child does not append its parent's marks.
void mark_at_exit(ExitMark mark);

// Appends all marks now, because the process will not call exit().
void write_exit_marks(int status);

}  // namespace tbq
