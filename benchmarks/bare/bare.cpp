// The yardstick: one thread, mmap, both CRCs by instruction, scalars into one set of columns per tag, and
// nothing else. No filter, no restarts, no damage, no problems. Any time beyond this is a reader's overhead.
//
// Decodes once for each line on stdin and answers with one line of JSON; the paths are its arguments. A
// directory stands for all files below it with `tfevents` in their name, one run per file. `--reuse` writes
// into the memory of the round before, which a program that returns its columns cannot do; without it each
// round uses fresh pages.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "crc.hpp"

namespace {

[[noreturn]] void fail(const char* what, const std::string& where) {
  std::fprintf(stderr, "bare: %s: %s\n", what, where.c_str());
  std::exit(1);
}

// One reservation for all columns, in large pages if the system has them; blocks are cut from it in order.
class Arena {
 public:
  void reserve(size_t bytes, bool reuse) {
    used_ = 0;
    if (reuse && base_ && size_ >= bytes) return;
    release();
    size_ = (bytes + kPage - 1) & ~(kPage - 1);
    mapped_ = size_ + kPage;
    map_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map_ == MAP_FAILED) fail("cannot reserve memory", "");
    base_ =
        reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(map_) + kPage - 1) & ~uintptr_t{kPage - 1});
#ifdef MADV_HUGEPAGE
    madvise(base_, size_, MADV_HUGEPAGE);
#endif
  }
  void release() {
    if (base_) munmap(map_, mapped_);
    base_ = nullptr;
  }
  uint8_t* take(size_t bytes) {
    if (bytes > size_ - used_) fail("the reservation was too small", "");
    uint8_t* block = base_ + used_;
    used_ += bytes;
    return block;
  }

 private:
  static constexpr size_t kPage = size_t{2} << 20;
  void* map_ = nullptr;
  uint8_t* base_ = nullptr;
  size_t size_ = 0, mapped_ = 0, used_ = 0;
};

// A series: three columns in blocks that double, all of them in the arena.
struct Block {
  int64_t* steps;
  double* walls;
  double* values;
  uint32_t rows;
};

struct Series {
  int64_t* step = nullptr;
  double* wall = nullptr;
  double* value = nullptr;
  uint32_t row = 0, capacity = 0;
  uint32_t next = 0;  // the series that followed this one the last time
  uint32_t tag = 0;
  uint32_t tag_size = 0;
  const uint8_t* tag_bytes = nullptr;  // in the mapped file, while that file is read
  std::vector<Block> full;
};

constexpr uint32_t kFirstRows = 256, kMostRows = 8192;
constexpr size_t kSmallFile = size_t{1} << 20;  // mapping one costs more than copying it

struct Decoder {
  Arena arena;
  std::vector<Series> series;
  uint32_t used = 0;  // of `series`: they keep their small vectors from round to round
  std::unordered_map<std::string, uint32_t> tags;
  std::unordered_map<std::string_view, uint32_t> here;  // tag → series, for the file at hand
  std::vector<uint8_t> small;
  uint64_t events = 0;

  void grow(Series& s) {
    if (s.step) s.full.push_back({s.step, s.wall, s.value, s.row});
    s.capacity = s.capacity == 0 ? kFirstRows : std::min(s.capacity * 2, kMostRows);
    s.row = 0;
    uint8_t* block = arena.take(size_t{s.capacity} * 24);
    s.step = reinterpret_cast<int64_t*>(block);
    s.wall = reinterpret_cast<double*>(block) + s.capacity;
    s.value = reinterpret_cast<double*>(block) + 2 * size_t{s.capacity};
  }

  uint32_t find(const uint8_t* tag, uint32_t size) {
    const std::string_view name(reinterpret_cast<const char*>(tag), size);
    const auto [place, fresh] = here.try_emplace(name, used);
    if (fresh) {
      if (used == series.size()) series.emplace_back();
      Series& s = series[used];
      s.full.clear();
      s.step = nullptr;
      s.row = s.capacity = 0;
      s.tag_bytes = tag;
      s.tag_size = size;
      s.tag = tags.try_emplace(std::string(name), static_cast<uint32_t>(tags.size())).first->second;
      s.next = used + 1;  // most files repeat the order in which the tags came first
      ++used;
    }
    return place->second;
  }

  inline void append(uint32_t at, int64_t step, double wall, double value) {
    Series& s = series[at];
    if (__builtin_expect(s.row == s.capacity, 0)) grow(s);
    const uint32_t row = s.row++;
    s.step[row] = step;
    s.wall[row] = wall;
    s.value[row] = value;
  }

  void file(const std::string& path);
  void general(const uint8_t* p, const uint8_t* end);
  bool value(const uint8_t* p, const uint8_t* end, int64_t step, double wall);
};

inline bool same(const uint8_t* a, const uint8_t* b, uint32_t size) {
  if (size >= 8) {
    uint64_t different = load<uint64_t>(a + size - 8) ^ load<uint64_t>(b + size - 8);
    for (uint32_t i = 0; i + 8 < size; i += 8) different |= load<uint64_t>(a + i) ^ load<uint64_t>(b + i);
    return different == 0;
  }
  for (uint32_t i = 0; i < size; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

inline bool varint(const uint8_t*& p, const uint8_t* end, uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
    const uint8_t byte = *p++;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// One field: its number, wire type, and either the number in it or its bytes.
struct Field {
  uint64_t key = 0, number = 0;
  const uint8_t* data = nullptr;
};

inline bool field(const uint8_t*& p, const uint8_t* end, Field& f) {
  if (p >= end || !varint(p, end, f.key)) return false;
  switch (f.key & 7) {
    case 0:
      return varint(p, end, f.number);
    case 1:
      if (end - p < 8) return false;
      f.number = load<uint64_t>(p);
      p += 8;
      return true;
    case 2:
      if (!varint(p, end, f.number) || f.number > static_cast<uint64_t>(end - p)) return false;
      f.data = p;
      p += f.number;
      return true;
    case 5:
      if (end - p < 4) return false;
      f.number = load<uint32_t>(p);
      p += 4;
      return true;
    default:
      return false;
  }
}

double float_bits(uint64_t bits) {
  const uint32_t low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, 4);
  return value;
}

// Any Summary.Value: a simple_value, or a float tensor of one element with plugin `scalars` beside it.
bool Decoder::value(const uint8_t* p, const uint8_t* end, int64_t step, double wall) {
  Field f, tag;
  bool simple = false, tensor = false, scalars = false;
  double number = 0;
  while (field(p, end, f)) {
    if (f.key == 0x0a) tag = f;
    if (f.key == 0x15) simple = true, number = float_bits(f.number);
    if (f.key == 0x42) {
      Field t;
      for (const uint8_t *q = f.data, *stop = q + f.number; field(q, stop, t);)
        if ((t.key == 0x22 || t.key == 0x2a) && t.number == 4)
          tensor = true, number = float_bits(load<uint32_t>(t.data));
    }
    if (f.key == 0x4a) {
      static constexpr std::string_view plugin = "\x0a\x07scalars";
      scalars = std::string_view(reinterpret_cast<const char*>(f.data), f.number).find(plugin) !=
                std::string_view::npos;
    }
  }
  if (!tag.data || !(simple || (tensor && scalars))) return false;
  append(find(tag.data, static_cast<uint32_t>(tag.number)), step, wall, number);
  return true;
}

// Any Event, field by field.
void Decoder::general(const uint8_t* p, const uint8_t* end) {
  Field f, summary, one;
  double wall = 0;
  int64_t step = 0;
  while (field(p, end, f)) {
    if (f.key == 0x09) std::memcpy(&wall, &f.number, 8);
    if (f.key == 0x10) step = static_cast<int64_t>(f.number);
    if (f.key == 0x2a) summary = f;
  }
  if (!summary.data) return;
  for (const uint8_t *q = summary.data, *stop = q + summary.number; field(q, stop, one);)
    if (one.key == 0x0a) value(one.data, one.data + one.number, step, wall);
}

void Decoder::file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) fail("cannot read", path);
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) {
    close(fd);
    return;
  }
  const uint8_t* p;
  void* map = nullptr;
  if (size <= kSmallFile) {
    small.resize(kSmallFile);
    if (read(fd, small.data(), size) != static_cast<ssize_t>(size)) fail("cannot read", path);
    close(fd);
    p = small.data();
  } else {
#ifdef MAP_POPULATE
    constexpr int flags = MAP_SHARED | MAP_POPULATE;
#else
    constexpr int flags = MAP_SHARED;
#endif
    map = mmap(nullptr, size, PROT_READ, flags, fd, 0);
    close(fd);
    if (map == MAP_FAILED) fail("cannot map", path);
    p = static_cast<const uint8_t*>(map);
  }
  const uint8_t* const end = p + size;
  const uint8_t* const safe =
      end - std::min<size_t>(size, 64);  // loads of a few bytes past a record stay inside
  here.clear();
  uint32_t guess = used, last = ~uint32_t{0};
  while (end - p >= 16) {
    const uint64_t length = load<uint64_t>(p);
    if (masked_crc_u64(length) != load<uint32_t>(p + 8) || length > static_cast<uint64_t>(end - p) - 16)
      fail("bad or truncated record", path);
    const uint8_t* const event = p + 12;
    const uint8_t* const stop = event + length;
    if (masked_crc(event, length) != load<uint32_t>(stop)) fail("bad checksum", path);
    p = stop + 4;
    ++events;

    // The layout that every writer of scalars produces, with one-byte lengths; everything else takes the
    // general path.
    if (length < 32 - 8 || length > 200 || stop > safe || event[0] != 0x09) {
      general(event, stop);
      continue;
    }
    const double wall = load<double>(event + 1);
    const uint8_t* q = event + 9;
    uint64_t step = 0;
    if (*q == 0x10) {
      const uint64_t word = load<uint64_t>(q + 1);
      if ((word & 0x80) == 0) {
        step = word & 0x7f;
        q += 2;
      } else if ((word & 0x8000) == 0) {
        step = (word & 0x7f) | (word >> 1 & 0x3f80);
        q += 3;
      } else if ((word & 0x800000) == 0) {
        step = (word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000);
        q += 4;
      } else {
        ++q;
        if (!varint(q, stop, step)) continue;
      }
    }
    // 2a LL 0a LL 0a TT: the lengths must chain to the end of the record exactly.
    const int64_t left = stop - q;
    if (left < 11 || q[0] != 0x2a || q[1] != left - 2 || q[2] != 0x0a || q[3] != left - 4 || q[4] != 0x0a) {
      general(event, stop);
      continue;
    }
    const uint32_t tag_size = q[5];
    const uint8_t* const tag = q + 6;
    const int64_t rest = left - 6 - tag_size;
    double number;
    if (rest == 5 && tag[tag_size] == 0x15) {
      number = load<float>(tag + tag_size + 1);
    } else if (rest == 25 && load<uint64_t>(tag + tag_size) == 0x0422'0012'0108'0a42u &&
               load<uint64_t>(tag + tag_size + 12) == 0x6373'070a'090a'0b4au &&
               load<uint64_t>(tag + tag_size + 17) == 0x7372'616c'6163'7307u) {
      number = load<float>(tag + tag_size + 8);
    } else {
      general(event, stop);
      continue;
    }
    uint32_t at = guess;
    if (at >= used || series[at].tag_size != tag_size || !same(series[at].tag_bytes, tag, tag_size)) {
      at = find(tag, tag_size);
      if (last < used) series[last].next = at;
    }
    last = at;
    guess = series[at].next;
    append(at, static_cast<int64_t>(step), wall, number);
  }
  if (map) munmap(map, size);
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  bool reuse = false;
  std::vector<std::string> roots;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--reuse")
      reuse = true;
    else
      roots.push_back(argument);
  }
  Decoder decoder;
  char line[64];
  while (std::fgets(line, sizeof line, stdin)) {
    const double cpu = cpu_seconds();
    const auto wall = std::chrono::steady_clock::now();
    std::vector<std::string> files;
    size_t bytes = 0;
    for (const std::string& root : roots) {
      if (!fs::is_directory(root)) {
        files.push_back(root);
        continue;
      }
      for (const auto& entry : fs::recursive_directory_iterator(root))
        if (entry.path().filename().native().find("tfevents") != std::string::npos && entry.is_regular_file())
          files.push_back(entry.path().native());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) bytes += fs::file_size(file);

    decoder.used = 0;
    decoder.events = 0;
    decoder.tags.clear();
    // Records of scalars have 45 bytes and more; 24 of columns each, twice that for blocks begun and not
    // filled.
    decoder.arena.reserve(bytes + files.size() * 64 * kFirstRows * 24 + (size_t{64} << 20), reuse);
    for (const std::string& file : files) decoder.file(file);
    const double cpu_used = cpu_seconds() - cpu;
    const double wall_used = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();

    uint64_t rows = 0;
    double step_sum = 0, wall_sum = 0, value_sum = 0;
    if (line[0] == 'c') {  // "check": what was decoded, outside of the time
      const auto add = [&](const int64_t* steps, const double* walls, const double* values, uint32_t count) {
        rows += count;
        for (uint32_t i = 0; i < count; ++i) {
          step_sum += static_cast<double>(steps[i]);
          wall_sum += walls[i] - 1.7e9;
          value_sum += values[i];
        }
      };
      for (uint32_t i = 0; i < decoder.used; ++i) {
        const Series& s = decoder.series[i];
        for (const Block& block : s.full) add(block.steps, block.walls, block.values, block.rows);
        add(s.step, s.wall, s.value, s.row);
      }
    } else {
      for (uint32_t i = 0; i < decoder.used; ++i) {
        rows += decoder.series[i].row;
        for (const Block& block : decoder.series[i].full) rows += block.rows;
      }
    }
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::printf(
        "{\"cpu\": %.6f, \"wall\": %.6f, \"rows\": %llu, \"records\": %llu, \"series\": %u, \"bytes\": %zu, "
        "\"steps\": %.17g, \"walls\": %.17g, \"values\": %.17g, \"system\": %.6f}\n",
        cpu_used, wall_used, static_cast<unsigned long long>(rows),
        static_cast<unsigned long long>(decoder.events), decoder.used, bytes, step_sum, wall_sum, value_sum,
        seconds(usage.ru_stime));
    std::fflush(stdout);
    if (!reuse) decoder.arena.release();
  }
}
