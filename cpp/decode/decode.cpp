// The driver: turns files into jobs, runs the jobs on threads, and joins the results in the order of runs.
#include "decode/decode.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "decode/below.hpp"
#include "decode/crew.hpp"
#include "decode/file_opener.hpp"
#include "decode/jobs.hpp"
#include "decode/join.hpp"
#include "record/recovery.hpp"

namespace tbq {
namespace {

// How to decode a part of a run, in addition to the options that hold for all parts.
struct PartSettings {
  bool careful = false;
  bool steps = false;                // store the steps of every kind, to count the rows that stay
  const Plugins* plugins = nullptr;  // known so far
  const Renames* renamed = &kNone;   // for files below the run
  bool counted = false;              // the bytes were already counted as progress
  std::vector<const Part*> before;   // earlier parts of the same file

  static inline const Renames kNone;
};

// Whether a tag has another first metadata in an earlier part of its file.
bool differ(const std::vector<SessionMetadata>& earlier, const std::vector<SessionMetadata>& later) {
  return !earlier.empty() && !later.empty() &&
         !std::ranges::equal(earlier.front().bytes, later.front().bytes);
}

class Decoder {
 public:
  Decoder(const std::vector<FileSpec>& files, const DecodeOptions& options)
      : specs_(files),
        options_(options),
        plan_(plan_jobs(files, options)),
        runs_(plan_.runs),
        jobs_(plan_.jobs),
        outputs_(jobs_.size()) {
    result_.files.resize(files.size());
    for (size_t i = 0; i < files.size(); ++i) {
      result_.files[i].path = files[i].path;
      result_.files[i].name = files[i].name;
      result_.files[i].run = files[i].run;
      result_.files[i].is_below = files[i].is_below;
    }
  }

  Result run() {
    execute();
    result_.cancelled = stopped() || (options_.tick && !options_.tick({plan_.total_bytes, plan_.total_bytes,
                                                                       specs_.size(), specs_.size()}));
    if (result_.cancelled) return std::move(result_);
    for (Output& output : outputs_) {
      if (output.joiner) append_rows(result_, *output.joiner);
      output.joiner.reset();
    }
    return std::move(result_);
  }

 private:
  struct Output {
    std::unique_ptr<Joiner> joiner;
    std::shared_ptr<Part> part;  // for a split job
    size_t parts_done = 0;       // for a run's first split job: how many of the run's jobs are done
  };

  // ---- threads

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
    const auto tick = [this] {
      return options_.tick({bytes_done_, plan_.total_bytes, files_done_, specs_.size()});
    };
    crew_.run(
        jobs_.size(), options_.in_place ? 0 : count,
        [this](unsigned worker, size_t i) {
          if (jobs_[i].split) {
            split_job(*workers_[worker], i);
          } else {
            whole_runs(*workers_[worker], jobs_[i], outputs_[i]);
          }
        },
        options_.tick ? std::function<bool()>(tick) : nullptr);
  }
  bool stopped() const { return crew_.stop().is_set(); }

  // ---- files and parts

  PartOptions part_options(const FileSpec& file, const PartSettings& settings) {
    PartOptions part;
    part.kinds = options_.kinds;
    if (options_.restarts != Restarts::tensorboard) {  // that policy needs every step, whatever is asked for
      part.first_step = options_.first_step;
      part.last_step = options_.last_step;
    }
    if (settings.steps) {
      part.kinds = kEveryKind;
      part.steps_only = true;
    }
    part.defer = options_.defer;
    part.careful = settings.careful || file.is_below;
    part.skippable = options_.skippable;
    part.general_only = options_.general_only;
    part.run = file.run;
    part.plugins = settings.plugins;
    if (file.is_below) part.renamed = settings.renamed;
    part.before = settings.before;
    part.select = &options_.select;
    part.stop = &crew_.stop();
    part.progress = settings.counted ? nullptr : &bytes_done_;
    return part;
  }

  // Decodes the records that start in [begin, limit) of a file; null if there is nothing to decode. With
  // `search`, looks for the first record from `begin` on.
  std::shared_ptr<Part> decode_file(Worker& worker, uint32_t index, uint64_t begin, uint64_t limit,
                                    bool search, const PartSettings& settings) {
    File file;
    if (!opener_.open(index, file, worker.reader)) return nullptr;
    auto part = std::make_shared<Part>();
    part->file = index;
    if (search && begin > 0) {
      worker.reader.reset(&file, file.size());
      begin = Recovery(worker.reader, &crew_.stop()).find_record(begin).resume;
    }
    decode_part(file, worker.reader, worker.pool, part_options(specs_[index], settings), begin, limit, *part);
    return part;
  }

  // Decodes a part again, over the same range.
  std::shared_ptr<Part> decode_again(Worker& worker, const Part& part, const PartSettings& settings) {
    auto repeated = decode_file(worker, part.file, part.begin, part.limit, false, settings);
    if (!repeated) return nullptr;
    for (auto& entry : part.tags.all) {  // the next decode reuses its memory
      entry->scalars.release(worker.pool);
      for (auto& [kind, from] : entry->blobs) from.rows.release(worker.pool);
    }
    return repeated;
  }

  // ---- runs

  size_t own_files(size_t run) const {
    return static_cast<size_t>(std::count_if(specs_.begin() + static_cast<std::ptrdiff_t>(runs_[run]),
                                             specs_.begin() + static_cast<std::ptrdiff_t>(runs_[run + 1]),
                                             [](const FileSpec& file) { return !file.is_below; }));
  }
  // If sessions are compared, all of their records count.
  bool careful_from_the_start(size_t run) const {
    return options_.verify || options_.session_tables || options_.count || own_files(run) > 1;
  }
  PartSettings first_settings(size_t run) const {
    PartSettings settings;
    settings.careful = careful_from_the_start(run);
    settings.steps =
        options_.count && (options_.restarts == Restarts::last || options_.restarts == Restarts::tensorboard);
    return settings;
  }

  void whole_runs(Worker& worker, const Job& job, Output& output) {
    output.joiner = std::make_unique<Joiner>(options_, worker.pool);
    for (uint32_t run = job.first_run; run < job.last_run && !stopped(); ++run) {
      Parts parts;
      Plugins plugins = plugins_of({}, {}, options_.known_tags(specs_[runs_[run]].run));
      PartSettings settings = first_settings(run);
      settings.plugins = &plugins;
      for (auto i = static_cast<uint32_t>(runs_[run]); i < runs_[run + 1]; ++i) {
        if (auto part = decode_file(worker, i, specs_[i].begin, specs_[i].limit, false, settings)) {
          // The first file of a run usually has the metadata of all tags.
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

  // The job of a run that finishes last joins the parts of all its jobs.
  void split_job(Worker& worker, size_t index) {
    const Job& job = jobs_[index];
    outputs_[index].part =
        decode_file(worker, job.file, job.begin, job.limit, true, first_settings(job.first_run));
    if (job.limit == UINT64_MAX) ++files_done_;
    {
      const std::lock_guard lock(parts_mutex_);
      if (++outputs_[job.first_job].parts_done < job.last_job - job.first_job) return;
    }
    if (stopped()) return;
    Parts parts;
    for (size_t i = job.first_job; i < job.last_job; ++i) {
      std::shared_ptr<Part> part = std::move(outputs_[i].part);
      if (!part) continue;
      // A part counts only if the part before it ended exactly at its start. Otherwise the walk from the
      // file's beginning is right, and the part is decoded again from there.
      if (!parts.empty() && parts.back()->file == part->file && parts.back()->stopped != part->begin) {
        if (parts.back()->stopped >= jobs_[i].limit || parts.back()->truncated > 0) continue;
        PartSettings settings = first_settings(job.first_run);
        settings.counted = true;
        settings.before = before(parts, parts.size(), part->file);
        part = decode_file(worker, jobs_[i].file, parts.back()->stopped, jobs_[i].limit, false, settings);
        if (!part) continue;
      } else if (knew_too_little(*part, before(parts, parts.size(), part->file))) {
        PartSettings settings = first_settings(job.first_run);
        settings.counted = true;
        settings.before = before(parts, parts.size(), part->file);
        part = decode_again(worker, *part, settings);
        if (!part) continue;
      }
      parts.push_back(std::move(part));
    }
    Output& output = outputs_[job.first_job];
    output.joiner = std::make_unique<Joiner>(options_, worker.pool);
    join(worker, job.first_run, parts, *output.joiner);
    output.joiner->finish();
  }

  // The parts of this file among the first `count`.
  static std::vector<const Part*> before(const Parts& parts, size_t count, uint32_t file) {
    std::vector<const Part*> found;
    for (size_t i = 0; i < count; ++i) {
      if (parts[i]->file == file) found.push_back(parts[i].get());
    }
    return found;
  }

  // Whether the part might have skipped other records, had it known what the parts before it know.
  bool knew_too_little(const Part& part, const std::vector<const Part*>& before) const {
    if (before.empty()) return false;
    if (part.in_doubt) return true;
    return std::any_of(part.tags.all.begin(), part.tags.all.end(), [&](const auto& entry) {
      return entry->passed && std::any_of(before.begin(), before.end(), [&](const Part* earlier) {
               const TagEntry* known = earlier->tags.find(entry->tag);
               return known &&
                      ((known->kinds() & options_.kinds) != 0 || differ(known->metadata, entry->metadata));
             });
    });
  }

  // Decodes parts again if they were decoded with wrong assumptions, then joins all parts.
  void join(Worker& worker, uint32_t run, Parts& parts, Joiner& joiner) {
    const bool by_path = options_.restarts == Restarts::tensorboard;
    PartSettings settings = first_settings(run);
    settings.counted = true;
    Renames renamed;
    settings.renamed = &renamed;
    RunSessions sessions;
    // Gives tags of files below the run other names, and orders the sessions.
    const auto order = [&] {
      renamed = renames_of(parts, result_.files);
      decode_again(worker, parts, settings, [&](const Part& part) {
        return result_.files[part.file].is_below && part.renamed != renamed;
      });
      sessions = order_run(parts, result_.files, by_path);
    };
    order();
    const auto verify_passed = [&] {
      const auto own = std::count_if(sessions.ordered.begin(), sessions.ordered.end(),
                                     [](const RunSession& session) { return !session.is_below; });
      if (settings.careful || (own < 2 && !may_begin_earlier(parts))) return;
      settings.careful = true;
      decode_again(worker, parts, settings, [](const Part& part) { return part.passed > 0; });
      order();
    };
    verify_passed();
    // Only now is it certain which session is the first, and so which metadata applies.
    Plugins plugins = plugins_of(parts, sessions, options_.known_tags(specs_[runs_[run]].run));
    settings.plugins = &plugins;
    if (decode_again(worker, parts, settings,
                     [&](const Part& part) { return assumed_wrongly(part, plugins); })) {
      order();
      verify_passed();  // with all plugins known, other records may be skipped
    }
    if (!joiner.add(specs_[runs_[run]].run, parts, sessions) && !stopped()) {
      settings.steps = true;
      decode_again(worker, parts, settings, [](const Part&) { return true; });
      sessions = order_run(parts, result_.files, by_path);
      joiner.add(specs_[runs_[run]].run, parts, sessions, true);
    }
    for (auto i = static_cast<uint32_t>(runs_[run]); i < runs_[run + 1]; ++i) {
      report_file(i, parts, result_.files[i]);
    }
  }

  // Whether a skipped record seems older than all records that were read. Its time counts only if the record
  // is verified, and the start of a run must not depend on what is asked for.
  static bool may_begin_earlier(const Parts& parts) {
    TimeSpan times;
    TimeSpan claimed;
    for (const auto& part : parts) {
      claimed.merge(part->claimed);
      for (const Session& session : part->sessions) times.merge(session.times);
    }
    return claimed.known &&
           (!times.known || !std::isfinite(times.start()) || claimed.start() < times.start());
  }

  // Returns whether any part was decoded again. Its sessions may differ then: the file may have changed.
  template <class Which>
  bool decode_again(Worker& worker, Parts& parts, const PartSettings& settings, Which&& which) {
    bool any = false;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (stopped() || !which(*parts[i])) continue;
      PartSettings informed = settings;
      informed.before = before(parts, i, parts[i]->file);
      if (auto repeated = decode_again(worker, *parts[i], informed)) parts[i] = std::move(repeated);
      any = true;
    }
    return any;
  }

  const std::vector<FileSpec>& specs_;
  const DecodeOptions& options_;
  const Plan plan_;
  const std::vector<size_t>& runs_;
  const std::vector<Job>& jobs_;
  std::vector<Output> outputs_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Result result_;
  FileOpener opener_{options_, result_.files};
  Crew crew_;
  std::atomic<uint64_t> bytes_done_{0};
  std::atomic<uint64_t> files_done_{0};
  std::mutex parts_mutex_;  // guards Output::parts_done
};

}  // namespace

Result decode(const std::vector<FileSpec>& files, const DecodeOptions& options) {
  Result result = Decoder(files, options).run();
  result.columns = options.columns;
  return result;
}

}  // namespace tbq
