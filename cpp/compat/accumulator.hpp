// Keeps what TensorBoard's EventAccumulator keeps from a stream of events: the values of each tag by the
// field that held them, as logged, with its purging and its sampling.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytes/cursor.hpp"
#include "bytes/seeded_hash.hpp"
#include "compat/payload.hpp"
#include "compat/reservoir.hpp"
#include "compat/row_memory.hpp"
#include "event/event.hpp"
#include "event/tag_predictor.hpp"

namespace tbq {

// The kinds of EventAccumulator, in the order in which its message about purging names them.
enum class LegacyKind : uint8_t { scalars, histograms, compressed_histograms, images, audio, tensors };
constexpr size_t kLegacyKinds = 6;
constexpr size_t kPurgedKinds = 5;  // tensors are never purged

// A row as NumPy sees it: three columns of eight bytes.
struct LegacyScalar {
  double wall_time;
  int64_t step;
  double value;
};

struct LegacyValue {
  double wall_time;
  int64_t step;
  Payload payload;
};

// Other observations, in order. A purge states which rows it dropped.
struct LogNote {
  enum What : uint8_t {
    source_writer,
    file_version,
    graph,
    meta_graph,
    run_metadata,
    metadata,
    purge,
    bad_event
  };
  What what = bad_event;
  std::string tag = {};
  std::string bytes = {};
  // For a purge: the event that caused it, the last event before it, and the number of dropped rows.
  int64_t step = 0;
  double wall_time = 0;
  int64_t last_step = -1;
  double last_wall_time = -1;
  bool has_last = false;
  std::array<uint64_t, kPurgedKinds> purged{};
};

class Accumulator {
 public:
  using Sizes = std::array<ReservoirSize, kLegacyKinds>;
  // Parses the text of a file version like Python's float().
  using ParseVersion = std::function<double(std::string_view)>;

  Accumulator(Sizes sizes, ParseVersion parse_version);

  void set_purge(bool purge) { purge_ = purge; }
  // Disables the fast paths, for comparison.
  void set_general_only(bool general_only) { general_only_ = general_only; }
  // The bytes of large messages that stay in memory; further messages stay in their files, if they have one.
  void set_most_kept(uint64_t bytes) { most_kept_ = bytes; }
  void add(Bytes event, const RecordPlace& place = {});

  uint64_t events() const { return events_; }
  double first_wall_time() const { return first_wall_time_; }  // of the first event
  // The last event that was in order; only files with a version below 2 have one.
  bool has_last() const { return has_last_; }
  int64_t last_step() const { return last_step_; }
  double last_wall_time() const { return last_wall_time_; }
  std::vector<LogNote> take_notes() { return std::exchange(notes_, {}); }

  bool has(std::string_view tag) const { return find(tag) != nullptr; }
  // Tags in the order of their first value.
  std::vector<std::string_view> tags(LegacyKind kind) const;
  // Null if there is no such tag of this kind.
  const Reservoir<LegacyScalar>::Rows* scalars(std::string_view tag) const;
  std::shared_ptr<const Reservoir<LegacyValue>::Rows> values(LegacyKind kind, std::string_view tag) const;

 private:
  struct Tag {
    std::string name;
    Tag* next = this;  // see TagPredictor
    bool has_metadata = false;
    std::unique_ptr<Reservoir<LegacyScalar>> scalars;
    std::array<std::unique_ptr<Reservoir<LegacyValue>>, kLegacyKinds> values;
  };

  // The fast paths: they handle an event with one value of a known tag, and leave all other events to add().
  bool add_plain_scalar(Bytes event);
  bool add_plain_value(Bytes event, const RecordPlace& place);
  // Returns false if an event with this step may purge rows.
  bool is_in_order(int64_t step) const { return !purge_ || version_ >= 2 || step >= last_step_; }
  void note_plain(int64_t step, double wall_time);
  Tag* known(std::string_view name);
  void add_value(const EventRef& event, const ValueRef& value, Bytes bytes, const RecordPlace& place);
  void add_instead(const ValueRef& value, Bytes bytes);
  void add_row(LegacyKind kind, Tag& tag, const EventRef& event, Payload payload);
  void maybe_purge(EventRef& event, Bytes bytes);
  void purge(EventRef& event, Bytes bytes, bool by_tags);
  void purge_all(int64_t step, std::array<uint64_t, kPurgedKinds>& purged);
  static void purge_tag(Tag& tag, int64_t step, std::array<uint64_t, kPurgedKinds>& purged);
  Tag& tag_named(std::string_view name);
  const Tag* find(std::string_view name) const;

  static constexpr uint64_t kMostKept = uint64_t{256} << 20;

  Sizes sizes_;
  KeptBytes kept_ = std::make_shared<std::atomic<uint64_t>>(0);
  uint64_t most_kept_ = kMostKept;
  ParseVersion parse_version_;
  bool share_histograms_;  // compressed histograms use the same rows
  bool purge_ = true;
  bool general_only_ = false;
  double version_ = 0;  // 0: unknown
  bool has_last_ = false;
  int64_t last_step_ = -1;
  double last_wall_time_ = -1;
  uint64_t events_ = 0;
  double first_wall_time_ = 0;
  RowMemory memory_;  // used by all members below
  std::vector<std::unique_ptr<Tag>> all_;
  NameViewMap<Tag*> by_name_;
  std::array<std::vector<const Tag*>, kLegacyKinds> order_;
  TagPredictor<Tag> predictor_;
  EventRef event_;
  std::vector<LogNote> notes_;
};

}  // namespace tbq
