// What the parts of a run have together: sessions in order, the metadata of tags, the report of each file.
#pragma once

#include <memory>
#include <vector>

#include "decode/decode.hpp"

namespace tbq {

using Parts = std::vector<std::shared_ptr<Part>>;  // of one run: by file, then by offset

struct RunSessions {
  std::vector<RunSession> ordered;
  std::vector<int64_t> starts;                // per session, the limit that later SessionLog.STARTs set
  std::vector<std::vector<uint32_t>> places;  // per part, the positions of its sessions in `ordered`
};

// `by_path` orders sessions as TensorBoard reads them.
RunSessions order_run(const Parts& parts, const std::vector<FileReport>& files, bool by_path);

// The metadata of one tag in all parts that applies: the first in the order of sessions; null if there is
// none.
struct TagOfPart {
  size_t part = 0;
  TagEntry* entry = nullptr;
};
const SessionMetadata* first_metadata(std::span<const TagOfPart> entries, const RunSessions& sessions);

// The plugin of every tag with metadata, in these parts or in `known`.
Plugins plugins_of(const Parts& parts, const RunSessions& sessions, const KnownTags* known);

// Whether a kind in this part was decided by another plugin than the one that applies.
bool assumed_wrongly(const Part& part, const Plugins& plugins);

// Adds the findings of the parts of file `index` to its report.
void report_file(uint32_t index, const Parts& parts, FileReport& report);

}  // namespace tbq
