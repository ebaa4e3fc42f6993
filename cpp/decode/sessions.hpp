// The sessions of a run over all of its parts: joined, ordered, and what their metadata says of tags.
#pragma once

#include <memory>
#include <vector>

#include "decode/decode.hpp"

namespace tbq {

using Parts = std::vector<std::shared_ptr<Part>>;  // of one run: by file, and inside each by offset

struct RunSessions {
  std::vector<RunSession> ordered;
  std::vector<int64_t> starts;                // the limits that later SessionLog.STARTs set, for each
  std::vector<std::vector<uint32_t>> places;  // for each part, where its sessions are among the ordered
};

// `by_path` orders them as TensorBoard reads them.
RunSessions order_run(const Parts& parts, const std::vector<FileReport>& files, bool by_path);

// Of the metadata of one tag in all parts, the one that counts: the first in the order of sessions; null if
// there is none.
struct TagOfPart {
  size_t part = 0;
  TagEntry* entry = nullptr;
};
const SessionMetadata* first_metadata(std::span<const TagOfPart> entries, const RunSessions& sessions);

// The plugin of every tag that has metadata, here or where `known` is from.
Plugins plugins_of(const Parts& parts, const RunSessions& sessions, const KnownTags* known);

// Whether a kind in this part was decided by another plugin than the one that counts.
bool assumed_wrongly(const Part& part, const Plugins& plugins);

}  // namespace tbq
