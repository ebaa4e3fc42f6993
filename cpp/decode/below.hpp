// Files of a directory below a run that are read as part of the run.
//
// They hold the hyperparameters and final metrics of the run, which `add_hparams` writes to a directory of
// their own. They are not sessions of the run: neither side's sessions replace rows of the other. A tag that
// the run has too gets another name, `hparam/<tag>`.
#pragma once

#include "decode/sessions.hpp"

namespace tbq {

// The tags of files below the run that need another name, because the run's own files have that tag.
Renames renames_of(const Parts& parts, const std::vector<FileReport>& files);

}  // namespace tbq
