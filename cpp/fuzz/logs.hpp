// Event files as seeds for the targets that read them: every kind, small and large, sessions, restarts,
// damage.
#pragma once

#include <string>
#include <vector>

// Scripts (see script.hpp).
std::vector<std::string> log_scripts();
