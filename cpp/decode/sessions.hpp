// The sessions of a run over all of its parts: joined, ordered, and with the metadata of their tags.
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

}  // namespace tbq
