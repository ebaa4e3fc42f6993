// The driver: files to jobs, jobs to threads, the results joined in order of runs.
#include "decode/decode.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "decode/join.hpp"
#include "record/framing.hpp"
#include "record/recovery.hpp"

namespace tbq {

const char* file_state_name(FileState state) {
  switch (state) {
    case FileState::events:
      return "events";
    case FileState::empty:
      return "empty";
    case FileState::unreadable:
      return "unreadable";
    case FileState::git_lfs:
      return "git_lfs";
    case FileState::not_events:
      return "not_events";
  }
  return "";
}

namespace {

// A run, or several small ones in a row; or one part of a run that is large enough to be split.
struct Job {
  uint32_t first_run = 0;
  uint32_t last_run = 0;  // behind the last
  bool split = false;
  uint32_t file = 0;   // for a split job
  uint64_t begin = 0;  // where the part is looked for
  uint64_t limit = 0;
  size_t first_job = 0;  // of the same run
  size_t last_job = 0;   // behind the last of the same run
};

bool looks_compressed(const uint8_t* head, size_t size) {
  if (size < 2) return false;
  if (head[0] == 0x1f && head[1] == 0x8b) return true;
  return (head[0] & 0x0f) == 8 && (head[0] >> 4) <= 7 && (head[0] * 256 + head[1]) % 31 == 0;
}

// How a part of a run is decoded, beside what holds for all of them.
struct Manner {
  bool careful = false;
  bool steps = false;                // store the steps of every kind, to count what stays
  const Plugins* plugins = nullptr;  // known so far
  bool again = false;                // the bytes have been counted before
};

class Decoder {
 public:
  Decoder(const std::vector<FileSpec>& files, const DecodeOptions& options)
      : specs_(files), options_(options) {
    result_.files.resize(files.size());
    unpacked_.resize(files.size());
    for (size_t i = 0; i < files.size(); ++i) {
      result_.files[i].path = files[i].path;
      result_.files[i].run = files[i].run;
      if (i == 0 || files[i].run != files[i - 1].run) runs_.push_back(i);
    }
    runs_.push_back(files.size());
  }

  Result run() {
    plan();
    outputs_ = std::vector<Output>(jobs_.size());
    execute();
    if (failure_) std::rethrow_exception(failure_);
    if (!cancelled_ && options_.tick) {
      cancelled_ = !options_.tick({total_bytes_, total_bytes_, specs_.size(), specs_.size()});
    }
    result_.cancelled = cancelled_;
    if (cancelled_) return std::move(result_);
    for (Output& output : outputs_) {
      if (output.joiner) append(*output.joiner);
      output.joiner.reset();
    }
    return std::move(result_);
  }

 private:
  size_t run_count() const { return runs_.size() - 1; }

  // ---- jobs
  // -------------------------------------------------------------------------------------------------------

  // Sizes are asked for only where a split could pay; else each file is opened once, when it is read.
  void plan() {
    const bool may_split = options_.threads > 1 && specs_.size() <= 64;
    for (size_t run = 0; run < run_count(); ++run) {
      uint64_t bytes = 0;
      std::vector<uint64_t> sizes;
      for (size_t i = runs_[run]; (may_split || options_.count_bytes) && i < runs_[run + 1]; ++i) {
        File file;
        sizes.push_back(file.open(specs_[i].path) == 0 ? file.size() : 0);
        bytes += sizes.back();
      }
      total_bytes_ += bytes;
      if (!may_split || bytes < 2 * options_.split) {
        jobs_.push_back({static_cast<uint32_t>(run), static_cast<uint32_t>(run + 1)});
        continue;
      }
      for (size_t i = runs_[run]; i < runs_[run + 1]; ++i) {
        const uint64_t size = sizes[i - runs_[run]];
        const uint64_t parts = std::clamp<uint64_t>(size / options_.split, 1, options_.threads);
        for (uint64_t k = 0; k < parts; ++k) {
          jobs_.push_back({static_cast<uint32_t>(run), static_cast<uint32_t>(run + 1), true,
                           static_cast<uint32_t>(i), size / parts * k,
                           k + 1 == parts ? UINT64_MAX : size / parts * (k + 1)});
        }
      }
    }
    group_small_runs();
    for (size_t first = 0; first < jobs_.size();) {
      size_t last = first + 1;
      while (last < jobs_.size() && jobs_[first].split && jobs_[last].split &&
             jobs_[last].first_run == jobs_[first].first_run) {
        ++last;
      }
      for (size_t i = first; i < last; ++i) {
        jobs_[i].first_job = first;
        jobs_[i].last_job = last;
      }
      first = last;
    }
  }

  // Consecutive small runs become one job, so that their rows are packed together: a few jobs per thread.
  void group_small_runs() {
    if (jobs_.size() <= options_.threads) return;
    const size_t most =
        std::max<size_t>(1, jobs_.size() / (options_.threads == 1 ? 1 : options_.threads * 8));
    std::vector<Job> grouped;
    for (const Job& job : jobs_) {
      if (!grouped.empty() && !job.split && !grouped.back().split &&
          grouped.back().last_run - grouped.back().first_run < most) {
        grouped.back().last_run = job.last_run;
      } else {
        grouped.push_back(job);
      }
    }
    jobs_ = std::move(grouped);
  }

  struct Output {
    std::unique_ptr<Joiner> joiner;
    std::shared_ptr<Part> part;  // of a split job
    size_t parts_done = 0;       // of a run's first split job: how many of its jobs are done
  };

  // ---- threads
  // ----------------------------------------------------------------------------------------------------

  struct Worker {
    explicit Worker(const DecodeOptions& options)
        : pool(has(options.columns, ScalarColumn::wall_time)), reader(options.block) {}
    Pool pool;
    BlockReader reader;
  };

  void execute() {
    const unsigned count =
        std::max(1U, std::min<unsigned>(options_.threads, static_cast<unsigned>(jobs_.size())));
    for (unsigned i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>(options_));
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
      try {
        const std::lock_guard lock(mutex_);
        threads.emplace_back([this, i] { loop(*workers_[i]); });
        ++running_;
      } catch (const std::system_error&) {  // the system has no more threads: fewer do it too
        break;
      } catch (...) {
        fail();
        break;
      }
    }
    if (threads.empty()) {
      alone_ = true;
      ++running_;
      loop(*workers_[0]);
    }
    watch();
    for (std::thread& thread : threads) thread.join();
  }

  void loop(Worker& worker) {
    try {
      for (size_t i = next_job_++; i < jobs_.size() && !cancelled_; i = next_job_++) {
        if (jobs_[i].split) {
          split_job(worker, i);
        } else {
          whole_runs(worker, jobs_[i], outputs_[i]);
        }
        if (alone_) tick();
      }
    } catch (...) {
      fail();
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    cancelled_ = true;
  }

  // Waits for the workers on the calling thread, which alone may call back.
  void watch() {
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
      if (cancelled_ || running_ == 0) continue;
      lock.unlock();
      tick();
      lock.lock();
    }
  }

  void tick() {
    if (!options_.tick || cancelled_) return;
    try {
      if (!options_.tick({bytes_done_, total_bytes_, files_done_, specs_.size()})) cancelled_ = true;
    } catch (...) {
      fail();
    }
  }

  // ---- files and parts
  // --------------------------------------------------------------------------------------------

  PartOptions part_options(uint32_t run, const Manner& manner) {
    PartOptions part;
    part.kinds = options_.kinds;
    if (options_.restarts != Restarts::tensorboard) {  // that rule looks at every step, whatever is asked for
      part.first_step = options_.first_step;
      part.last_step = options_.last_step;
    }
    if (manner.steps) {
      part.kinds = kEveryKind;
      part.steps_only = true;
    }
    part.defer = options_.defer;
    part.careful = manner.careful;
    part.general_only = options_.general_only;
    part.run = run;
    part.plugins = manner.plugins;
    part.select = &options_.select;
    part.cancelled = &cancelled_;
    part.progress = manner.again ? nullptr : &bytes_done_;
    return part;
  }

  // Opens a file and finds out what it is; false where there is nothing to decode.
  bool open(uint32_t index, File& file, BlockReader& reader) {
    FileReport& report = result_.files[index];
    const std::string& path = unpacked_[index].empty() ? specs_[index].path : unpacked_[index];
    report.error = file.open(path);
    if (report.error != 0) {
      report.state = FileState::unreadable;
      return false;
    }
    if (!report.compressed) report.bytes = file.size();
    if (file.size() == 0) {
      report.state = FileState::empty;
      return false;
    }
    if (file.size() < kHeader) return true;
    reader.reset(&file, file.size());
    const uint8_t* head = reader.view(0, kHeader);
    uint64_t length;
    if (!head || read_header(head, length)) return true;
    constexpr std::string_view kLfs = "version https://git-lfs";
    const uint8_t* text = reader.view(0, std::min<size_t>(kLfs.size(), file.size()));
    if (text && std::string_view(reinterpret_cast<const char*>(text),
                                 std::min(kLfs.size(), size_t{file.size()})) == kLfs) {
      report.state = FileState::git_lfs;
      return false;
    }
    if (text && looks_compressed(text, 2) && !report.compressed && options_.inflate) {
      unpacked_[index] = options_.inflate(specs_[index].path);
      if (!unpacked_[index].empty()) {
        report.compressed = true;
        report.unpacked = unpacked_[index];
        return open(index, file, reader);
      }
    }
    return true;
  }

  // The records that start in [begin, limit) of a file; null where there is nothing to decode. `search` looks
  // for the first record from `begin` on.
  std::shared_ptr<Part> decode_file(Worker& worker, uint32_t index, uint64_t begin, uint64_t limit,
                                    bool search, const Manner& manner) {
    File file;
    {
      const std::lock_guard lock(open_mutex_[index % std::size(open_mutex_)]);
      if (!open(index, file, worker.reader)) return nullptr;
    }
    auto part = std::make_shared<Part>();
    part->file = index;
    if (search && begin > 0) {
      worker.reader.reset(&file, file.size());
      begin = Recovery(worker.reader, &cancelled_).find_record(begin).resume;
    }
    decode_part(file, worker.reader, worker.pool, part_options(specs_[index].run, manner), begin, limit,
                *part);
    return part;
  }

  // Decodes a part again, from and to where it was.
  std::shared_ptr<Part> decode_again(Worker& worker, const Part& part, const Manner& manner) {
    auto again = decode_file(worker, part.file, part.begin, part.limit, false, manner);
    if (!again) return nullptr;
    for (auto& entry : part.tags.all) {  // its memory serves the next one
      entry->scalars.release(worker.pool);
      for (auto& [kind, from] : entry->blobs) from.rows.release(worker.pool);
    }
    return again;
  }

  // ---- runs
  // -------------------------------------------------------------------------------------------------------

  // Where sessions are compared, all of their records count.
  bool careful_from_the_start(size_t run) const {
    return options_.verify || options_.details || options_.count || runs_[run + 1] - runs_[run] > 1;
  }
  Manner first_manner(size_t run) const {
    Manner manner;
    manner.careful = careful_from_the_start(run);
    manner.steps =
        options_.count && (options_.restarts == Restarts::last || options_.restarts == Restarts::tensorboard);
    return manner;
  }

  void whole_runs(Worker& worker, const Job& job, Output& output) {
    output.joiner = std::make_unique<Joiner>(options_, worker.pool);
    for (uint32_t run = job.first_run; run < job.last_run && !cancelled_; ++run) {
      Parts parts;
      Plugins plugins;
      Manner manner = first_manner(run);
      manner.plugins = &plugins;
      for (auto i = static_cast<uint32_t>(runs_[run]); i < runs_[run + 1]; ++i) {
        if (auto part = decode_file(worker, i, 0, UINT64_MAX, false, manner)) {
          // Most often the first file of a run says all there is to know of its tags.
          for (const auto& entry : part->tags.all) {
            if (i + 1 < runs_[run + 1] && !entry->metadata.empty()) {
              plugins.try_emplace(entry->tag, entry->metadata[0].parsed->plugin);
            }
          }
          parts.push_back(std::move(part));
        }
        ++files_done_;
      }
      join(worker, run, parts, *output.joiner);
    }
    output.joiner->finish();
  }

  // The last one of a run's jobs joins what all of them made.
  void split_job(Worker& worker, size_t index) {
    const Job& job = jobs_[index];
    outputs_[index].part =
        decode_file(worker, job.file, job.begin, job.limit, true, first_manner(job.first_run));
    if (job.limit == UINT64_MAX) ++files_done_;
    {
      const std::lock_guard lock(mutex_);
      if (++outputs_[job.first_job].parts_done < job.last_job - job.first_job) return;
    }
    if (cancelled_) return;
    Parts parts;
    for (size_t i = job.first_job; i < job.last_job; ++i) {
      std::shared_ptr<Part> part = std::move(outputs_[i].part);
      if (!part) continue;
      // A part counts only where the one before it ended exactly at its start; else the walk from the file's
      // beginning is right, and the part is decoded again from there.
      if (!parts.empty() && parts.back()->file == part->file && parts.back()->stopped != part->begin) {
        if (parts.back()->stopped >= jobs_[i].limit || parts.back()->truncated > 0) continue;
        Manner manner = first_manner(job.first_run);
        manner.again = true;
        part = decode_file(worker, jobs_[i].file, parts.back()->stopped, jobs_[i].limit, false, manner);
        if (!part) continue;
      }
      parts.push_back(std::move(part));
    }
    Output& output = outputs_[job.first_job];
    output.joiner = std::make_unique<Joiner>(options_, worker.pool);
    join(worker, job.first_run, parts, *output.joiner);
    output.joiner->finish();
  }

  // Decodes parts again that turn out to have been decoded in the wrong manner, then joins all of them.
  void join(Worker& worker, uint32_t run, Parts& parts, Joiner& joiner) {
    const bool by_path = options_.restarts == Restarts::tensorboard;
    Manner manner = first_manner(run);
    manner.again = true;
    RunSessions sessions = order_run(parts, result_.files, by_path);
    Plugins plugins = plugins_of(parts, sessions);
    const bool wrong_plugins = std::any_of(parts.begin(), parts.end(),
                                           [&](const auto& part) { return assumed_wrongly(*part, plugins); });
    const bool too_hasty = !manner.careful && (sessions.ordered.size() > 1 || begins_late(parts));
    manner.careful = manner.careful || too_hasty;
    manner.plugins = &plugins;
    if (wrong_plugins || too_hasty) {
      decode_again(worker, parts, manner, [&](const Part& part) {
        return (too_hasty && part.passed > 0) || assumed_wrongly(part, plugins);
      });
      sessions = order_run(parts, result_.files, by_path);
    }
    if (!joiner.add(specs_[runs_[run]].run, parts, sessions) && !cancelled_) {
      manner.steps = true;
      decode_again(worker, parts, manner, [](const Part&) { return true; });
      sessions = order_run(parts, result_.files, by_path);
      joiner.add(specs_[runs_[run]].run, parts, sessions);
    }
    for (auto i = static_cast<uint32_t>(runs_[run]); i < runs_[run + 1]; ++i) report_file(i, parts);
  }

  // Whether a record is older than the first, as in a converted log: then the oldest may be a large one.
  static bool begins_late(const Parts& parts) {
    const Session* first = nullptr;
    for (const auto& part : parts) {
      for (const Session& session : part->sessions) {
        if (!session.timed) continue;
        if (!first) first = &session;
        if (session.earliest < first->begin) return true;
      }
    }
    return false;
  }

  template <class Which>
  void decode_again(Worker& worker, Parts& parts, const Manner& manner, Which&& which) {
    for (auto& part : parts) {
      if (cancelled_ || !which(*part)) continue;
      if (auto again = decode_again(worker, *part, manner)) part = std::move(again);
    }
  }

  void report_file(uint32_t index, const Parts& parts) {
    FileReport& report = result_.files[index];
    bool any = false;
    const int64_t* last_step = nullptr;  // of the session so far
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& part = parts[i];
      if (part->file != index) continue;
      report.records += part->records;
      report.truncated += part->truncated;
      report.lost_bytes += part->lost_bytes;
      report.more_faults += part->more_faults;
      report.bytes_read += part->bytes_read;
      report.resume = part->stopped;
      if (part->error != 0) report.error = part->error;
      if (report.writer.empty()) report.writer = part->writer;
      if (report.file_version.empty()) report.file_version = part->file_version;
      add_faults(report, parts, i, last_step);
      for (const Session& session : part->sessions) {
        if (!session.continues || report.sessions == 0) ++report.sessions;
        if (!session.continues) last_step = nullptr;
        if (session.values > 0) last_step = &session.last_step;
        if (session.timed) {
          if (!report.timed) report.first_wall = report.last_wall = session.begin;
          report.first_wall = std::min(report.first_wall, session.earliest);
          report.last_wall = std::max(report.last_wall, session.end);
          report.timed = true;
        }
        if (session.values > 0) {
          if (!any) {
            report.first_step = session.first_step;
            report.max_step = session.max_step;
          }
          report.last_step = session.last_step;
          report.max_step = std::max(report.max_step, session.max_step);
          any = true;
        }
        report.values += session.values;
      }
    }
    if (report.records == 0 && report.lost_bytes > 0) report.state = FileState::not_events;
  }

  // Whether the parts of the file before this one know all of these tags.
  static bool known_before(const Parts& parts, size_t index, const std::vector<Doubt::Tag>& tags) {
    return std::all_of(tags.begin(), tags.end(), [&](const Doubt::Tag& tag) {
      return std::any_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(index),
                         [&](const auto& earlier) {
                           if (earlier->file != parts[index]->file) return false;
                           const TagEntry* entry = earlier->tags.find(tag.name);
                           return entry && (!entry->metadata.empty() || !tag.has_metadata);
                         });
    });
  }

  // The damage of the next part of a file. What came before and after it may lie in other parts.
  static void add_faults(FileReport& report, const Parts& parts, size_t index, const int64_t* before) {
    const Part& part = *parts[index];
    if (part.has_event) {
      for (auto fault = report.faults.rbegin(); fault != report.faults.rend() && !fault->has_after; ++fault) {
        fault->has_after = true;
        fault->step_after = part.first_event_step;
      }
    }
    const uint64_t next_session = part.sessions.size() > 1 ? part.sessions[1].offset : UINT64_MAX;
    auto doubt = part.doubts.begin();
    for (size_t i = 0; i < part.faults.size(); ++i) {
      Fault fault = part.faults[i];
      if (doubt != part.doubts.end() && doubt->fault == i && known_before(parts, index, (doubt++)->tags)) {
        report.lost_bytes -= fault.length;
        continue;
      }
      if (!fault.has_before && fault.offset < next_session && part.sessions[0].continues && before) {
        fault.has_before = true;
        fault.step_before = *before;
      }
      if (report.faults.size() == kMostFaults) {
        ++report.more_faults;
      } else {
        report.faults.push_back(fault);
      }
    }
  }

  void append(Joiner& from) {
    const auto base = static_cast<uint32_t>(result_.series.size());
    for (ScalarBatch& batch : from.scalars) {
      for (auto& span : batch.spans) span.series += base;
      result_.scalars.push_back(std::move(batch));
    }
    for (size_t kind = 0; kind < kKindCount; ++kind) {
      if (base > 0) {
        for (BlobRow& row : from.blobs[kind]) row.tag += base;
      }
      auto& joined = result_.blobs[kind];
      if (!joined) {
        joined = std::make_shared<BlobTable>(std::move(from.blobs[kind]));
      } else {
        joined->insert(joined->end(), from.blobs[kind].begin(), from.blobs[kind].end());
      }
    }
    const auto session_base = static_cast<uint32_t>(result_.sessions.size());
    for (SegmentReport& segment : from.segment_reports) {
      segment.series += base;
      segment.session += session_base;
      result_.segments.push_back(segment);
    }
    std::move(from.session_reports.begin(), from.session_reports.end(), std::back_inserter(result_.sessions));
    std::move(from.series.begin(), from.series.end(), std::back_inserter(result_.series));
    std::move(from.held.begin(), from.held.end(), std::back_inserter(result_.parts));
  }

  const std::vector<FileSpec>& specs_;
  const DecodeOptions& options_;
  std::vector<size_t> runs_;  // where each run's files begin, and the end
  std::vector<std::string> unpacked_;
  std::vector<Job> jobs_;
  std::vector<Output> outputs_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Result result_;
  std::atomic<size_t> next_job_{0};
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> bytes_done_{0};
  std::atomic<uint64_t> files_done_{0};
  uint64_t total_bytes_ = 0;
  std::mutex mutex_;
  std::mutex open_mutex_[16];  // parts of one file are opened one after the other: one of them unpacks it
  std::condition_variable changed_;
  unsigned running_ = 0;
  bool alone_ = false;  // no thread could be started
  std::exception_ptr failure_;
};

}  // namespace

Result decode(const std::vector<FileSpec>& files, const DecodeOptions& options) {
  Result result = Decoder(files, options).run();
  result.columns = options.columns;
  return result;
}

}  // namespace tbq
