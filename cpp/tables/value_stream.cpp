// Feeds the tables of values: loads, verifies and expands values batch by batch.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tables/kinds.hpp"
#include "tables/value_loader.hpp"

namespace tbq {
namespace {

// A batch ends at about this many bytes or rows; a larger value is a batch of its own.
constexpr uint64_t kBatchBytes = uint64_t{8} << 20;
constexpr uint64_t kBatchRows = 65536;
// Columns of at least this many bytes are handed over without a copy; shorter ones are copied together.
constexpr uint64_t kDirect = uint64_t{128} << 10;

// Everything a stream needs, with copies of the rows, so that it outlives its result.
class ValueStream {
 public:
  ValueStream(const Result& result, const TableKind& table, const std::vector<std::string>& runs,
              const std::vector<uint32_t>* wanted, const std::vector<std::string>* columns,
              std::shared_ptr<ValueProblems> problems)
      : parts_(result.parts),
        problems_(std::move(problems)),
        loader_(result.files),
        expander_(table.make(*problems_)) {
    if (columns) {
      named_ = *columns;
      expander_->want(&named_);
    }
    rows_ = result.blobs[static_cast<size_t>(table.kind)];
    if (!rows_) rows_ = std::make_shared<BlobTable>();
    if (wanted) {
      auto picked = std::make_shared<BlobTable>();
      for (const uint32_t index : *wanted) {
        if (index >= rows_->size()) continue;
        picked->push_back((*rows_)[index]);
        numbers_.push_back(index);
      }
      rows_ = std::move(picked);
    }
    number_series(result);
    runs_ = string_dictionary(runs);
    auto slabs = std::make_shared<std::vector<std::shared_ptr<void>>>();
    for (const auto& part : parts_) slabs->insert(slabs->end(), part->slabs.begin(), part->slabs.end());
    columns_ = std::move(slabs);
  }

  Batch schema() {
    Batch batch;
    finish(batch);
    return batch;
  }

  bool next(Batch& batch) {
    const BlobTable& rows = *rows_;
    if (at_ == rows.size()) return false;
    if (const size_t end = direct_until(at_); end > 0) {
      const std::span run(rows.data() + at_, end - at_);
      expander_->add_keys(run, static_cast<int32_t>(run[0].run), codes_[place_[run[0].tag]]);
      for (size_t i = at_; i < end; ++i) expander_->add_number(number_of(i));
      expander_->adopt(run, columns_);
      at_ = end;
      finish(batch);
      return true;
    }
    uint64_t bytes = 0;
    size_t end = at_;
    while (end < rows.size() && end - at_ < kBatchRows) {
      if (end > at_ && bytes + rows[end].payload_length > kBatchBytes) break;
      bytes += rows[end++].payload_length + 64;
    }
    expander_->reserve(bytes, end - at_);
    // A value may have many rows; then the batch ends early.
    do {
      append(rows[at_], number_of(at_));
      ++at_;
    } while (at_ < end && expander_->rows() < kBatchRows && direct_until(at_) == 0);
    finish(batch);
    return true;
  }

 private:
  // The position among all values, not only among the selected ones.
  int64_t number_of(size_t at) const { return static_cast<int64_t>(numbers_.empty() ? at : numbers_[at]); }

  // The end of the values that lie consecutively in columns from `at` on; 0 if there are none or few.
  size_t direct_until(size_t at) {
    const BlobTable& rows = *rows_;
    if (rows[at].bins == 0 || at < looked_at_) return at == direct_begin_ ? direct_end_ : 0;
    uint64_t count = rows[at].bins;
    size_t end = at + 1;
    const auto follows = [&](const BlobRow& row, const BlobRow& next) {
      return next.bins > 0 && next.stride == row.stride &&
             next.payload == row.payload + row.bins * sizeof(double);
    };
    while (end < rows.size() && end - at < kBatchRows && follows(rows[end - 1], rows[end])) {
      count += rows[end++].bins;
    }
    looked_at_ = end;
    if (count * HistogramColumns::kBin < kDirect) return 0;
    direct_begin_ = at;
    return direct_end_ = end;
  }

  // Numbers the series that have rows here, and makes the dictionary of their tags.
  void number_series(const Result& result) {
    place_.assign(result.series.size(), UINT32_MAX);
    for (const BlobRow& row : *rows_) {
      if (place_[row.tag] == UINT32_MAX) {
        place_[row.tag] = static_cast<uint32_t>(series_.size());
        series_.push_back(result.series[row.tag]);
      }
    }
    std::vector<std::string> tags;
    for (const SeriesReport& report : series_) tags.push_back(report.tag);
    std::sort(tags.begin(), tags.end());
    tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
    for (const SeriesReport& report : series_) {
      codes_.push_back(
          static_cast<int32_t>(std::lower_bound(tags.begin(), tags.end(), report.tag) - tags.begin()));
    }
    tags_ = tag_dictionary(tags);
  }

  void append(const BlobRow& row, int64_t number) {
    const uint32_t place = place_[row.tag];
    const SeriesReport& series = series_[place];
    const char* what = nullptr;
    Value value;
    value.payload = loader_.load(row, what);
    if (what) {
      problems_->add({"bad_payload", row.run, series.tag, row.step, row.file, row.record, what});
      return;
    }
    value.row = &row;
    value.series = &series;
    if (row.metadata) {
      value.metadata = {row.metadata, static_cast<size_t>(row.metadata_length)};
    } else {
      const auto* first = reinterpret_cast<const uint8_t*>(series.metadata_bytes.data());
      value.metadata = {first, series.metadata_bytes.size()};
    }
    value.run = static_cast<int32_t>(row.run);
    value.tag = codes_[place];
    value.number = number;
    expander_->append(value);
  }

  void finish(Batch& batch) {
    batch.length = static_cast<int64_t>(expander_->rows());
    expander_->finish_keys(batch, runs_, tags_);
    expander_->finish(batch);
    std::erase_if(batch.columns, [&](const Column& column) { return !expander_->wants(column.name); });
  }

  std::vector<std::shared_ptr<Part>> parts_;  // own the bytes that rows point to
  std::shared_ptr<ValueProblems> problems_;
  ValueLoader loader_;
  std::vector<std::string> named_;  // the wanted columns, unless all are wanted
  std::unique_ptr<Expander> expander_;
  std::shared_ptr<const BlobTable> rows_;
  std::vector<uint32_t> numbers_;  // positions of the selected values
  std::vector<uint32_t> place_;    // maps the result's series to series_
  std::vector<SeriesReport> series_;
  std::vector<int32_t> codes_;
  std::shared_ptr<const Column> runs_;
  std::shared_ptr<const Column> tags_;
  std::shared_ptr<const void> columns_;  // owns the columns that rows point to
  size_t at_ = 0;
  size_t looked_at_ = 0;  // rows before this one were already checked by direct_until
  size_t direct_begin_ = SIZE_MAX;
  size_t direct_end_ = 0;
};

}  // namespace

void export_table(const Result& result, const TableKind& table, const std::vector<std::string>& runs,
                  const std::vector<uint32_t>* rows, const std::vector<std::string>* columns,
                  std::shared_ptr<ValueProblems> problems, ArrowArrayStream* out) {
  auto stream = std::make_shared<ValueStream>(result, table, runs, rows, columns, std::move(problems));
  Batch schema = stream->schema();
  export_lazy(std::move(schema), [stream](Batch& batch) { return stream->next(batch); }, out);
}

}  // namespace tbq
