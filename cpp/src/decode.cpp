// The driver: files to jobs, jobs to threads, the results joined in order of runs.
#include "tbq/decode.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "recovery.hpp"
#include "seal.hpp"
#include "tbq/record.hpp"

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
};

bool looks_compressed(const uint8_t* head, size_t size) {
  if (size < 2) return false;
  if (head[0] == 0x1f && head[1] == 0x8b) return true;
  return (head[0] & 0x0f) == 8 && (head[0] >> 4) <= 7 && (head[0] * 256 + head[1]) % 31 == 0;
}

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
    outputs_.resize(jobs_.size());
    work();
    if (failure_) std::rethrow_exception(failure_);
    result_.cancelled = cancelled_;
    if (!cancelled_) join();
    return std::move(result_);
  }

 private:
  size_t run_count() const { return runs_.size() - 1; }

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
  }

  // Consecutive small runs become one job, so that their rows are packed together: a few jobs a thread.
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
    std::unique_ptr<Sealer> sealer;
    std::shared_ptr<Part> part;  // of a split job
  };

  struct Worker {
    explicit Worker(const DecodeOptions& options)
        : pool(has(options.columns, ScalarColumn::wall_time)), reader(options.block) {}
    Pool pool;
    BlockReader reader;
  };

  void work() {
    const unsigned count =
        std::max(1U, std::min<unsigned>(options_.threads, static_cast<unsigned>(jobs_.size())));
    for (unsigned i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>(options_));
    if (options_.in_place) {
      running_ = 1;
      loop(*workers_[0]);
      return;
    }
    std::vector<std::thread> threads;
    running_ = count;
    for (unsigned i = 0; i < count; ++i) threads.emplace_back([this, i] { loop(*workers_[i]); });
    watch();
    for (std::thread& thread : threads) thread.join();
  }

  void loop(Worker& worker) {
    try {
      for (size_t i = next_job_++; i < jobs_.size() && !cancelled_; i = next_job_++) {
        if (jobs_[i].split) {
          outputs_[i].part = split_part(worker, jobs_[i], jobs_[i].begin, true);
        } else {
          whole_runs(worker, jobs_[i], outputs_[i]);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      cancelled_ = true;
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  // Waits for the workers on the calling thread, which alone may call back.
  void watch() {
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
      if (!options_.tick || cancelled_ || running_ == 0) continue;
      const Progress progress{bytes_done_, total_bytes_, files_done_, specs_.size()};
      lock.unlock();
      bool go_on = false;
      try {
        go_on = options_.tick(progress);
      } catch (...) {
        lock.lock();
        failure_ = std::current_exception();
        lock.unlock();
      }
      if (!go_on) cancelled_ = true;
      lock.lock();
    }
  }

  PartOptions part_options(uint32_t run) {
    PartOptions part;
    part.kinds = options_.kinds;
    if (options_.restarts != Restarts::tensorboard) {  // that rule looks at every step, whatever is asked for
      part.first_step = options_.first_step;
      part.last_step = options_.last_step;
    }
    part.defer = options_.defer;
    part.verify = options_.verify;
    part.run = run;
    part.select = &options_.select;
    part.cancelled = &cancelled_;
    part.progress = &bytes_done_;
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

  std::shared_ptr<Part> whole_file(Worker& worker, uint32_t index, uint32_t run) {
    File file;
    auto part = std::make_shared<Part>();
    part->file = index;
    if (!open(index, file, worker.reader)) return nullptr;
    decode_part(file, worker.reader, worker.pool, part_options(run), 0, UINT64_MAX, *part);
    return part;
  }

  // Part k of a file starts at the first record behind its k-th share of the bytes; `search` looks for it.
  std::shared_ptr<Part> split_part(Worker& worker, const Job& job, uint64_t begin, bool search) {
    File file;
    const uint32_t run = specs_[job.file].run;
    {
      const std::lock_guard lock(open_mutex_);
      if (!open(job.file, file, worker.reader)) return nullptr;
    }
    auto part = std::make_shared<Part>();
    part->file = job.file;
    if (search && begin > 0) {
      worker.reader.reset(&file, file.size());
      begin = Recovery(worker.reader).find_record(begin).resume;
    }
    decode_part(file, worker.reader, worker.pool, part_options(run), begin, job.limit, *part);
    if (job.limit == UINT64_MAX) ++files_done_;
    return part;
  }

  void report_parts(uint32_t index, const std::vector<std::shared_ptr<Part>>& parts) {
    FileReport& report = result_.files[index];
    bool any = false;
    for (const auto& part : parts) {
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
      report.faults.insert(report.faults.end(), part->faults.begin(), part->faults.end());
      for (const Session& session : part->sessions) {
        if (!session.continues || report.sessions == 0) ++report.sessions;
        if (session.timed) {
          if (!report.timed) report.first_wall = report.last_wall = session.begin;
          report.first_wall = std::min(report.first_wall, session.begin);
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

  void whole_runs(Worker& worker, const Job& job, Output& output) {
    output.sealer = std::make_unique<Sealer>(options_, worker.pool);
    for (uint32_t run = job.first_run; run < job.last_run && !cancelled_; ++run) {
      std::vector<std::shared_ptr<Part>> parts;
      for (auto i = static_cast<uint32_t>(runs_[run]); i < runs_[run + 1]; ++i) {
        if (auto part = whole_file(worker, i, specs_[i].run)) {
          parts.push_back(std::move(part));
          report_parts(i, {parts.back()});
        }
        ++files_done_;
      }
      output.sealer->seal(specs_[runs_[run]].run, parts, result_.files);
    }
    output.sealer->finish();
  }

  // Whether a tag of a later part has values whose kind only its metadata tells, and others beside them: how
  // they lie between each other is not known then.
  static bool mixes(const Part& part) {
    return part.begin > 0 && std::any_of(part.tags.all.begin(), part.tags.all.end(), [](const auto& entry) {
             const bool pending =
                 !entry->pending_scalars.segments.all.empty() || !entry->pending_blobs.segments.all.empty();
             return pending && (!entry->scalars.segments.all.empty() || !entry->blobs.empty());
           });
  }

  // Joins the parts of one run. A part counts only where the one before it ended exactly at its start; else
  // the walk from the file's beginning is right, and the part is decoded again from there.
  void seal_split_run(size_t first_job, size_t last_job, Sealer& sealer) {
    std::vector<std::shared_ptr<Part>> parts;
    for (size_t i = first_job; i < last_job; ++i) {
      std::shared_ptr<Part> part = std::move(outputs_[i].part);
      if (!part) continue;
      if (!parts.empty() && parts.back()->file == part->file && parts.back()->stopped != part->begin) {
        if (parts.back()->stopped >= jobs_[i].limit || parts.back()->truncated > 0) continue;
        part = split_part(*workers_[0], jobs_[i], parts.back()->stopped, false);
        if (!part) continue;
      }
      parts.push_back(std::move(part));
    }
    const uint32_t run = jobs_[first_job].first_run;
    for (auto i = static_cast<uint32_t>(runs_[run]); i < runs_[run + 1]; ++i) {
      const auto of_file = [i](const auto& part) { return part->file == i; };
      if (std::any_of(parts.begin(), parts.end(),
                      [&](const auto& part) { return of_file(part) && mixes(*part); })) {
        if (std::shared_ptr<Part> whole = whole_file(*workers_[0], i, specs_[i].run)) {
          *std::find_if(parts.begin(), parts.end(), of_file) = whole;
          std::erase_if(parts, [&](const auto& part) { return of_file(part) && part != whole; });
        }
      }
      report_parts(i, parts);
    }
    sealer.seal(specs_[runs_[run]].run, parts, result_.files);
  }

  void join() {
    for (size_t i = 0; i < jobs_.size();) {
      if (!jobs_[i].split) {
        append(*outputs_[i].sealer);
        outputs_[i].sealer.reset();
        ++i;
        continue;
      }
      size_t last = i;
      while (last < jobs_.size() && jobs_[last].split && jobs_[last].first_run == jobs_[i].first_run) ++last;
      Sealer sealer(options_, workers_[0]->pool);
      seal_split_run(i, last, sealer);
      sealer.finish();
      append(sealer);
      i = last;
    }
  }

  void append(Sealer& from) {
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
  std::mutex open_mutex_;
  std::condition_variable changed_;
  unsigned running_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

Result decode(const std::vector<FileSpec>& files, const DecodeOptions& options) {
  Result result = Decoder(files, options).run();
  result.columns = options.columns;
  return result;
}

}  // namespace tbq
