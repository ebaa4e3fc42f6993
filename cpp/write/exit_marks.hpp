// Marks how the process ended at the end of event files, once its exit status is known.
#pragma once

#include <string>

namespace tbq {

// What to append to a file: fields of an Event after its wall time, by the status.
struct ExitMark {
  std::string path;
  std::string finished;
  std::string failed;
  double wall_time = 0;  // 0 for the time of the exit
};

// Whether the system tells the exit status to the process itself.
bool can_mark_at_exit();

// Appends the mark when the process calls exit(). A file that is gone by then stays so, and a child of the
// process that ends first appends nothing.
void mark_at_exit(ExitMark mark);

// Appends all marks now, because the process will not call exit().
void write_exit_marks(int status);

}  // namespace tbq
