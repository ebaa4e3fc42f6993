// Tables as a consumer of the Arrow interface sees them, in a comparable form that ignores batches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decode/decode.hpp"
#include "tables/kinds.hpp"

// The cells of each column one after the other, each with its length, or a marker if it is null.
struct Table {
  int64_t rows = 0;
  std::vector<std::pair<std::string, std::string>> columns;

  const std::string* column(std::string_view name) const;
  bool operator==(const Table&) const = default;
};

// Reads a stream to its end, checks it and releases it.
Table drain(ArrowArrayStream& stream);

// One table of a result, with all columns or some.
Table table_of(const tbq::Result& result, const tbq::TableKind& kind,
               const std::vector<std::string>* columns = nullptr);
