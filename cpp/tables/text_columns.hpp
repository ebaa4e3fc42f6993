// Text columns: empty texts, and texts that repeat on many rows.
#pragma once

#include <string_view>

#include "event/tensor.hpp"
#include "tables/builders.hpp"

namespace tbq {

inline void append_text(TextBuilder& column, std::string_view text) {
  if (!column.append(text)) column.append_null();
}
inline void append_text_or_null(TextBuilder& column, std::string_view text) {
  if (text.empty()) {
    column.append_null();
  } else {
    append_text(column, text);
  }
}

// Appends a text that one message repeats on many rows; null once the budget is spent.
inline bool append_repeated(TextBuilder& column, std::string_view text, RepeatBudget& budget) {
  if (text.size() > budget.left) {
    column.append_null();
    return false;
  }
  budget.left -= text.size();
  append_text_or_null(column, text);
  return true;
}

}  // namespace tbq
