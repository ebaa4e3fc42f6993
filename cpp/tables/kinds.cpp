// The list of tables, what all expanders do alike, and the stream that feeds them.
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "bytes/crc32c.hpp"
#include "record/framing.hpp"
#include "tables/expand.hpp"

namespace tbq {
namespace {

// A batch ends when it holds about this many bytes or rows; a larger value is a batch of its own.
constexpr uint64_t kBatchBytes = uint64_t{8} << 20;
constexpr uint64_t kBatchRows = 65536;
// Columns of that many bytes are handed over as they are; shorter ones are copied together.
constexpr uint64_t kDirect = uint64_t{128} << 10;

constexpr TableKind kTables[] = {
    {"tensors", Kind::tensors, make_tensors},
    {"histograms", Kind::histograms, make_histograms},
    {"images", Kind::images, make_images},
    {"audio", Kind::audio, make_audio},
    {"texts", Kind::texts, make_texts},
    {"hparams", Kind::hparams, make_hparams},
    {"hparam_metrics", Kind::hparams, make_hparam_metrics},
    {"hparam_domains", Kind::hparams, make_hparam_domains},
    {"pr_curves", Kind::pr_curves, make_pr_curves},
    {"meshes", Kind::meshes, make_meshes},
    {"graphs", Kind::graphs, make_graphs},
    {"nodes", Kind::graphs, make_nodes},
    {"run_metadata", Kind::run_metadata, make_run_metadata},
    {"custom_scalars", Kind::custom_scalars, make_custom_scalars},
    {"others", Kind::others, make_others},
    {"logs", Kind::logs, make_logs},
};

// Reads deferred values from their files. A record is verified whole when its first value is read.
class Loader {
 public:
  explicit Loader(const std::vector<FileReport>& files) {
    for (const FileReport& file : files) paths_.push_back(file.unpacked.empty() ? file.path : file.unpacked);
    verified_.resize(files.size());
  }

  // The payload, valid until the next call; null `what` where all is well.
  Bytes load(const BlobRow& row, const char*& what) {
    what = nullptr;
    if (!row.deferred) return {row.payload, static_cast<size_t>(row.payload_length)};
    const uint64_t length = row.record_length;
    if (!lies_in_file(row)) {
      what = kChanged;
      return {};
    }
    auto& verified = verified_[row.file];
    if (verified.contains(row.record)) {
      if (!read(row.record + kHeader + row.payload_offset, row.payload_length, what)) return {};
      return {buffer(), static_cast<size_t>(row.payload_length)};
    }
    if (!read(row.record, length + kOverhead, what)) return {};
    uint64_t stored;
    const uint8_t* data = buffer();
    if (!read_header(data, stored) || stored != length ||
        !payload_agrees(data + kHeader, static_cast<size_t>(length),
                        load_le<uint32_t>(data + kHeader + length))) {
      what = "a record's data does not agree with its checksum";
      return {};
    }
    verified.insert(row.record);
    return {data + kHeader + row.payload_offset, static_cast<size_t>(row.payload_length)};
  }

 private:
  static constexpr const char* kChanged = "the file has changed or vanished while it was read";

  bool lies_in_file(const BlobRow& row) {
    if (row.file != current_ || !opened_) {
      file_.close();
      current_ = row.file;
      opened_ = file_.open(paths_[row.file]) == 0;
    }
    const uint64_t length = row.record_length;
    return opened_ && length <= file_.size() && row.record <= file_.size() - length &&
           row.payload_length <= length && row.payload_offset <= length - row.payload_length;
  }

  const uint8_t* buffer() const { return reinterpret_cast<const uint8_t*>(buffer_.data()); }
  bool read(uint64_t offset, uint64_t count, const char*& what) {
    buffer_.clear();
    char* to = buffer_.extend(static_cast<size_t>(count));
    for (uint64_t done = 0; done < count;) {
      const int64_t got = file_.read_at(offset + done, to + done, static_cast<size_t>(count - done));
      if (got <= 0) {
        what = kChanged;
        return false;
      }
      done += static_cast<uint64_t>(got);
    }
    return true;
  }

  std::vector<std::string> paths_;
  std::vector<std::unordered_set<uint64_t>> verified_;
  File file_;
  uint32_t current_ = 0;
  bool opened_ = false;
  Grow<char> buffer_;
};

// What a stream holds on to: copies of the rows, so that it outlives the result it came from.
class Stream {
 public:
  Stream(const Result& result, const TableKind& table, const std::vector<std::string>& runs,
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
        if (index < rows_->size()) picked->push_back((*rows_)[index]);
      }
      rows_ = std::move(picked);
    }
    take_series(result);
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
    // A value may have many rows; the batch is then ended early.
    do {
      append(rows[at_++]);
    } while (at_ < end && expander_->rows() < kBatchRows && direct_until(at_) == 0);
    finish(batch);
    return true;
  }

 private:
  // Where the values end that lie in columns one behind the other from `at` on; 0 where they are none, or
  // few.
  size_t direct_until(size_t at) {
    const BlobTable& rows = *rows_;
    if (rows[at].triples == 0 || at < looked_at_) return at == direct_begin_ ? direct_end_ : 0;
    uint64_t count = rows[at].triples;
    size_t end = at + 1;
    const auto follows = [&](const BlobRow& row, const BlobRow& next) {
      return next.triples > 0 && next.apart == row.apart &&
             next.payload == row.payload + row.triples * sizeof(double);
    };
    while (end < rows.size() && end - at < kBatchRows && follows(rows[end - 1], rows[end])) {
      count += rows[end++].triples;
    }
    looked_at_ = end;
    if (count * Triples::kTriple < kDirect) return 0;
    direct_begin_ = at;
    return direct_end_ = end;
  }

  // The series that have rows here, and the dictionary of their tags.
  void take_series(const Result& result) {
    place_.assign(result.series.size(), UINT32_MAX);
    for (const BlobRow& row : *rows_) {
      if (place_[row.tag] == UINT32_MAX) {
        place_[row.tag] = static_cast<uint32_t>(series_.size());
        series_.push_back(result.series[row.tag]);
      }
    }
    std::vector<std::string> tags;
    for (const SeriesReport& one : series_) tags.push_back(one.tag);
    std::sort(tags.begin(), tags.end());
    tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
    for (const SeriesReport& one : series_) {
      codes_.push_back(
          static_cast<int32_t>(std::lower_bound(tags.begin(), tags.end(), one.tag) - tags.begin()));
    }
    tags_ = tag_dictionary(tags);
  }

  void append(const BlobRow& row) {
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
    expander_->append(value);
  }

  void finish(Batch& batch) {
    batch.length = static_cast<int64_t>(expander_->rows());
    expander_->finish_keys(batch, runs_, tags_);
    expander_->finish(batch);
    std::erase_if(batch.columns, [&](const Column& column) { return !expander_->wants(column.name); });
  }

  std::vector<std::shared_ptr<Part>> parts_;  // hold the bytes that rows point to
  std::shared_ptr<ValueProblems> problems_;
  Loader loader_;
  std::vector<std::string> named_;  // columns that are wanted, where not all are
  std::unique_ptr<Expander> expander_;
  std::shared_ptr<const BlobTable> rows_;
  std::vector<uint32_t> place_;  // of the result's series, in series_
  std::vector<SeriesReport> series_;
  std::vector<int32_t> codes_;
  std::shared_ptr<const Column> runs_;
  std::shared_ptr<const Column> tags_;
  std::shared_ptr<const void> columns_;  // that rows point to
  size_t at_ = 0;
  size_t looked_at_ = 0;  // rows before this one are known to be direct or not
  size_t direct_begin_ = SIZE_MAX;
  size_t direct_end_ = 0;
};

}  // namespace

void ValueProblems::add(ValueProblem problem) {
  const std::lock_guard lock(mutex_);
  if (found_.size() == kMost) {
    ++more_;
  } else {
    found_.push_back(std::move(problem));
  }
}

std::vector<ValueProblem> ValueProblems::take(uint64_t& more) {
  const std::lock_guard lock(mutex_);
  more = std::exchange(more_, 0);
  return std::exchange(found_, {});
}

Bytes plugin_content(Bytes metadata) {
  Bytes content;
  Cursor cursor(metadata);
  Field field;
  while (!cursor.empty() && cursor.field(field)) {
    if (!field.is(1, Wire::bytes)) continue;
    Cursor plugin(field.bytes);
    Field inner;
    while (!plugin.empty() && plugin.field(inner)) {
      if (inner.is(2, Wire::bytes)) content = inner.bytes;
    }
  }
  return content;
}

void Expander::add_keys(const Value& value, size_t rows) {
  run_codes_.fill(value.run, rows);
  tag_codes_.fill(value.tag, rows);
  steps_.fill(value.row->step, rows);
  walls_.fill(value.row->wall_time, rows);
}

void Expander::add_keys(std::span<const BlobRow> rows, int32_t run, int32_t tag) {
  run_codes_.fill(run, rows.size());
  tag_codes_.fill(tag, rows.size());
  int64_t* steps = steps_.extend(rows.size());
  double* walls = walls_.extend(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    steps[i] = rows[i].step;
    walls[i] = rows[i].wall_time;
  }
}

void Expander::reserve_keys(uint64_t /*bytes*/, uint64_t rows) {
  run_codes_.reserve(static_cast<size_t>(rows));
  tag_codes_.reserve(static_cast<size_t>(rows));
  steps_.reserve(static_cast<size_t>(rows));
  walls_.reserve(static_cast<size_t>(rows));
}

void Expander::finish_keys(Batch& batch, const std::shared_ptr<const Column>& runs,
                           const std::shared_ptr<const Column>& tags) {
  const auto rows = static_cast<int64_t>(steps_.size());
  const auto plain = [&](const char* name, const char* format, Buffer values) {
    Column column;
    column.name = std::string(name);
    column.format = std::string(format);
    column.length = rows;
    column.buffers = {Buffer{}, std::move(values)};
    batch.columns.push_back(std::move(column));
  };
  batch.columns.push_back(dictionary_column("run", Buffer::of(std::move(run_codes_)), rows, runs));
  batch.columns.push_back(dictionary_column("tag", Buffer::of(std::move(tag_codes_)), rows, tags));
  plain("step", "l", Buffer::of(std::move(steps_)));
  plain("wall_time", "g", Buffer::of(std::move(walls_)));
}

void Expander::report(const Value& value, const char* code, std::string message) {
  problems_.add({code, value.row->run, value.series->tag, value.row->step, value.row->file, value.row->record,
                 std::move(message)});
}

std::string_view Expander::utf8(const Value& value, std::string_view text) {
  if (is_valid_utf8(text)) return text;
  report(value, "invalid_utf8",
         "the text is not valid UTF-8; the bytes that are not were replaced by U+FFFD");
  repaired_ = valid_utf8(text);
  return repaired_;
}

const TableKind* table_kind(std::string_view name) {
  for (const TableKind& table : kTables) {
    if (name == table.name) return &table;
  }
  return nullptr;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const TableKind& table : kTables) names.emplace_back(table.name);
  return names;
}

void export_table(const Result& result, const TableKind& table, const std::vector<std::string>& runs,
                  const std::vector<uint32_t>* rows, const std::vector<std::string>* columns,
                  std::shared_ptr<ValueProblems> problems, ArrowArrayStream* out) {
  auto stream = std::make_shared<Stream>(result, table, runs, rows, columns, std::move(problems));
  Batch schema = stream->schema();
  export_lazy(std::move(schema), [stream](Batch& batch) { return stream->next(batch); }, out);
}

void export_keys(const Result& result, Kind kind, const std::vector<std::string>& runs,
                 ArrowArrayStream* out) {
  static const BlobTable none;
  const auto& held = result.blobs[static_cast<size_t>(kind)];
  const BlobTable& rows = held ? *held : none;
  std::vector<std::string> tags;
  std::vector<int32_t> places(result.series.size(), -1);
  FixedBuilder<int32_t> run, tag;
  FixedBuilder<int64_t> step, bytes;
  FixedBuilder<double> wall_time;
  for (const BlobRow& row : rows) {
    if (places[row.tag] < 0) {
      places[row.tag] = static_cast<int32_t>(tags.size());
      tags.push_back(result.series[row.tag].tag);
    }
    run.append(static_cast<int32_t>(row.run));
    tag.append(places[row.tag]);
    step.append(row.step);
    wall_time.append(row.wall_time);
    bytes.append(static_cast<int64_t>(row.payload_length));
  }
  Batch batch;
  batch.length = static_cast<int64_t>(rows.size());
  batch.columns.push_back(run.finish("run"));
  batch.columns.back().dictionary = string_dictionary(runs);
  batch.columns.push_back(tag.finish("tag"));
  batch.columns.back().dictionary = tag_dictionary(tags);
  batch.columns.push_back(step.finish("step"));
  batch.columns.push_back(wall_time.finish("wall_time"));
  batch.columns.push_back(bytes.finish("bytes"));
  Batch schema = batch;
  std::vector<Batch> batches;
  batches.push_back(std::move(batch));
  export_stream(std::move(schema), std::move(batches), out);
}

}  // namespace tbq
