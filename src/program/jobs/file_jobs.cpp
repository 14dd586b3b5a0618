#include "program/jobs/file_jobs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "program/jobs/glob.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/machine.h"
#include "tessera/base/utf8.h"
#include "tessera/data/file_texts.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/window_code.h"
#include "tessera/store/digest.h"
#include "tessera/store/memo_store.h"

namespace tessera::jobs {
namespace {

namespace fs = std::filesystem;
using config::Json;

constexpr const char* kIgnoreFile = ".tesseraignore";
constexpr size_t kSample = 1 << 16;  // bytes that tell how many tokens a text has

/// The globs of a folder's own file.
std::vector<std::string> globs_of(const fs::path& folder) {
  std::vector<std::string> globs;
  const fs::path path = folder / kIgnoreFile;
  if (!fs::exists(fs::symlink_status(path))) return globs;
  std::istringstream lines(read_file(path));
  if (lines.str().starts_with("\uFEFF")) lines.ignore(3);  // a byte order mark
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '!')
      throw DataError(path.native(),
                      "'{}' begins with !; files are only left out here, name them without it",
                      line);
    globs.push_back(line);
  }
  return globs;
}

bool matches(const std::vector<std::string>& globs, const fs::path& relative) {
  return std::ranges::any_of(globs, [&](std::string glob) {
    if (glob.ends_with('/')) glob.pop_back();
    if (glob.find('/') == std::string::npos) return glob_matches(glob, relative.filename());
    if (glob.starts_with('/')) glob.erase(0, 1);
    return glob_matches(glob, relative, FNM_PATHNAME);
  });
}

/// Documents of a request, and what may stand for others that it does not name.
struct Listing {
  std::vector<FileDocument> documents;
  std::vector<std::string> passed_over;  ///< paths as ids have them: links, and folders of nothing
};

/// What is below a folder.
struct FolderContent {
  std::vector<std::pair<std::string, std::string>> files;  ///< path within the folder, path
  std::vector<std::string> passed_over;                    ///< as in a Listing
};

/// Every regular file, in the order of the paths; hidden ones, links, the store itself and what is
/// excluded left out. on_unlisted: told what cannot be listed.
template <typename OnUnlisted>
FolderContent files_below(const fs::path& folder, std::vector<std::string> globs,
                          const fs::path& store, const OnUnlisted& on_unlisted) {
  FolderContent content;
  auto& [files, passed_over] = content;
  const auto is_listed = [&](const fs::path& path) {
    const bool listed = ::euidaccess(path.c_str(), R_OK | X_OK) == 0;
    if (!listed) on_unlisted(SystemError(path.native(), "read", errno));
    return listed;
  };
  if (!is_listed(folder)) return content;
  for (auto& glob : globs_of(folder)) globs.push_back(std::move(glob));
  std::error_code failure;
  for (auto entry = fs::recursive_directory_iterator(folder);
       entry != fs::recursive_directory_iterator();) {
    const fs::path path = entry->path(), relative = path.lexically_relative(folder);
    const fs::file_type type = entry->symlink_status().type();  // links may lead nowhere
    const bool is_folder = type == fs::file_type::directory;
    const bool left_out = path.filename().native().starts_with('.') || matches(globs, relative) ||
                          (is_folder && fs::equivalent(path, store, failure));
    if (is_folder && (left_out || !is_listed(path)))
      entry.disable_recursion_pending();
    else if (!left_out && type == fs::file_type::regular)
      files.emplace_back(relative.native(), path.native());
    else if (!left_out && (!is_folder || fs::is_empty(path)))
      passed_over.push_back(relative.native());
    entry.increment(failure);
    if (failure) throw SystemError(path.native(), "read", failure.value());
  }
  if (files.empty())
    on_unlisted(DataError(folder.native(), "holds no text: there is no file below it"));
  std::ranges::sort(files);
  return content;
}

/// The documents of a file. What is wrong with one is said when it is looked at.
std::vector<FileDocument> documents_in(const std::string& id, const std::string& path, bool plain) {
  if (!plain && format_of(path) == FileFormat::kJsonLines) try {
      const auto source = std::make_shared<const TextSource>(TextSource::from_path(path));
      std::vector<FileDocument> lines;
      for (size_t n = 0; n < source->documents(); ++n)
        lines.push_back(
            {id + source->name(n).substr(path.size()), source->name(n), {}, plain, source, n});
      return lines;
    } catch (const std::runtime_error&) {
    }
  return {{id, path, {}, plain}};
}

/// Why there is nothing of this name, as far as one may see.
std::optional<SystemError> why_not_there(const std::string& path) {
  try {
    if (is_there(path)) return std::nullopt;
  } catch (const SystemError& error) {
    return error;
  }
  return SystemError(path, "open", ENOENT);
}

template <typename OnUnlisted>
Listing listing_of(const Files& files, const std::string& path, const fs::path& store,
                   const OnUnlisted& on_unlisted) {
  Listing listing;
  if (path == "-") {
    listing.documents.push_back({"", name_of_input(path), read_input(path)});
  } else if (const auto why = why_not_there(path)) {
    on_unlisted(*why);
  } else if (!fs::is_directory(path)) {
    listing.documents = documents_in(fs::path(path).filename(), path, files.plain);
  } else {
    const FolderContent content = files_below(path, files.exclude, store, on_unlisted);
    listing.passed_over = content.passed_over;
    for (const auto& [id, file] : content.files)
      for (auto& document : documents_in(id, file, files.plain))
        listing.documents.push_back(std::move(document));
  }
  return listing;
}

/// Why `document` cannot have the id that `other` has.
UsageError same_id(const FileDocument& document, const FileDocument& other) {
  if (other.name == document.name && document.source && other.source == document.source)
    return UsageError("two lines are {}; give each an \"id\" of its own", document.name);
  if (other.name == document.name) return UsageError("{} is named twice", document.name);
  return UsageError(
      "{} and {} would both be '{}'; memorize the folder above them, or one at a time with --id",
      other.name, document.name, document.id);
}

/// What the request names, each document with an id of its own; of two with one id the first.
/// refusals: gets what is left out, where the request keeps going.
Listing list(const Files& files, const fs::path& store, std::vector<std::string>& refusals) {
  const auto leave_out = [&](const auto& error) {
    if (!files.keep_going) throw error;
    refusals.push_back(error.what());
  };
  const auto on_unlisted = [&](const auto& error) {
    if (files.prune) throw error;  // what it held is not known to be gone
    leave_out(error);
  };
  std::vector<FileDocument> documents;
  Listing distinct;
  for (const auto& file : files.files) {
    Listing more = listing_of(files, file, store, on_unlisted);
    std::ranges::move(more.documents, std::back_inserter(documents));
    std::ranges::move(more.passed_over, std::back_inserter(distinct.passed_over));
  }
  if (files.id) {
    if (documents.size() > 1)
      throw UsageError("--id names one document, but there are {}", documents.size());
    for (auto& document : documents) document.id = *files.id;
  }
  std::map<std::string, size_t> places;
  for (auto& document : documents) {
    if (document.id.empty() && !files.id)
      throw UsageError("standard input has no name; give it one with --id");
    const auto [known, is_new] = places.emplace(document.id, distinct.documents.size());
    if (is_new)
      distinct.documents.push_back(std::move(document));
    else
      leave_out(same_id(document, distinct.documents[known->second]));
  }
  if (files.shards > 1) std::ranges::sort(distinct.documents, {}, &FileDocument::id);
  return distinct;
}

/// Throws where the store holds documents of what was passed over: they may not be gone.
void check_nothing_is_missed(const store::Ledger& ledger,
                             const std::vector<std::string>& passed_over) {
  std::set<std::string> ids;
  for (const auto& document : ledger.documents()) ids.insert(document.id);
  for (const auto& path : passed_over)
    for (const auto& below : {path, path + "/", path + ":"}) {  // the last: of its lines
      const auto held = ids.lower_bound(below);
      const bool is_held =
          held != ids.end() && (below == path ? *held == path : held->starts_with(below));
      if (is_held)
        throw DataError(path,
                        "is no file, or an empty folder, and the store holds '{}': is its disk "
                        "away? --prune would forget it; exclude '{}' if that is meant",
                        *held, path);
    }
}

store::Duplicates duplicates_of(const Files& files) {
  return files.replace ? store::Duplicates::kReplace : store::Duplicates::kRefuse;
}

/// Adds a document, or throws what is wrong with it.
void admit(const FileDocument& document, const store::MemoWriter& writer,
           store::Duplicates duplicates, Admitted& admitted, double& pairs) {
  document.visit([&](const std::string&, std::string_view text) {
    writer.check_id(document.id, duplicates);
    if (text.empty()) throw DataError(document.id, "is empty; there is nothing to memorize");
    admitted.bytes += std::ssize(text);
    const store::Ledger& ledger = writer.ledger();
    const auto known = ledger.find(document.id);
    if (known && ledger.details(*known).digest == store::text_digest(text)) return;
    const memo::TextMemoryConfig& memory = writer.config().memory;
    const std::string_view sample = utf8::beginning_of(text, kSample);
    const double times = static_cast<double>(text.size()) / static_cast<double>(sample.size());
    const std::vector<int32_t> encoded =
        saying_source(document.name, [&] { return writer.tokenizer().encode(sample); });
    const double tokens = times * static_cast<double>(encoded.size());
    if (tokens > static_cast<double>(memo::TextMemory::most_tokens(memory)))
      throw DataError(document.name,
                      "has about {:.0f} tokens, at most {} fit in the memory of this machine while "
                      "they are memorized; split it into several documents",
                      tokens, memo::TextMemory::most_tokens(memory));
    memo::WindowPairs windows(memo::window_lengths(memory));
    pairs += times * static_cast<double>(windows.append(encoded).size());
    if (known) pairs -= static_cast<double>(known->pairs);
  });
  admitted.documents.push_back(document);
}

}  // namespace

std::string read_input(const std::string& path) {
  if (path != "-") return read_file(path);
  const int64_t limit = physical_memory() / 4;
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (std::cin.read(buffer.data(), buffer.size()) || std::cin.gcount() > 0) {
    text.append(buffer.data(), std::cin.gcount());
    if (std::ssize(text) > limit)
      throw DataError(name_of_input(path),
                      "has more than {} bytes, a quarter of the memory of this machine; put it "
                      "into a file",
                      limit);
  }
  return text;
}

std::string name_of_input(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

void FileDocument::visit(const TextSource::Visitor& visit) const {
  if (text) {
    utf8::check_text(*text, name);
    return visit(name, *text);
  }
  if (source) return source->visit(number, visit);
  TextSource::from_path(name, "", plain).visit(0, visit);
}

Admitted Files::admitted(const store::MemoWriter& writer) const {
  Admitted admitted;
  admitted.metadata = parse_metadata("meta", meta);
  double pairs = static_cast<double>(writer.ledger().totals().pairs);
  size_t number = 0;
  const auto [documents, passed_over] = list(*this, writer.path(), admitted.refusals);
  if (prune) check_nothing_is_missed(writer.ledger(), passed_over);
  for (const FileDocument& document : documents) {
    if (number++ % shards != shard % shards) continue;
    admitted.named.push_back(document.id);
    try {
      admit(document, writer, duplicates_of(*this), admitted, pairs);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::runtime_error& error) {
      const bool is_one_bad_file = documents.size() > 1 && dynamic_cast<const DataError*>(&error);
      if (!keep_going && is_one_bad_file)
        throw DataError(fmt::format("{}; --keep-going leaves it out", error.what()));
      if (!keep_going) throw;
      admitted.refusals.push_back(error.what());
    }
  }
  admitted.load = pairs / std::max(1.0, store::pair_capacity(writer.config().memory));
  return admitted;
}

Files::Answer Files::memorize(store::MemoWriter& writer, const Admitted& admitted,
                              const OnNews& on_news, const OnProgress& on_progress) const {
  Answer answer{{}, {}, admitted.refusals};
  int64_t bytes_done = 0;
  const auto memorize_text = [&](const std::string& id, std::string_view text) {
    const auto show = [&](int64_t tokens, int64_t of) {
      const double share =
          static_cast<double>(tokens) / static_cast<double>(std::max<int64_t>(1, of));
      on_progress(bytes_done + static_cast<int64_t>(share * static_cast<double>(text.size())),
                  admitted.bytes);
    };
    const auto times = no_times ? store::Times::kNone : store::Times::kKept;
    answer.documents.push_back(
        jobs::memorize(writer, id, text, duplicates_of(*this), admitted.metadata, show, times));
    bytes_done += std::ssize(text);
  };
  for (const FileDocument& document : admitted.documents) {
    bool is_read = false;
    try {
      document.visit([&](const std::string&, std::string_view text) {
        is_read = true;
        memorize_text(document.id, text);
      });
    } catch (const Interrupted&) {
      throw;
    } catch (const std::runtime_error& error) {
      // Its file has gone meanwhile, or only its beginning was looked at.
      const bool is_refused = !is_read || dynamic_cast<const store::TextError*>(&error) != nullptr;
      if (!is_refused || !keep_going) throw;
      answer.refusals.push_back(error.what());
      continue;
    }
    on_news.memorized(answer.documents.back());
    on_progress(bytes_done, admitted.bytes);
  }
  return answer;
}

void Update::forget_others(store::MemoWriter& writer, const Admitted& admitted,
                           const OnNews& on_news, const OnProgress& on_progress,
                           Answer& answer) const {
  if (!prune) return;
  const std::set<std::string> named(admitted.named.begin(), admitted.named.end());
  // Lines of a file that cannot be read now are not known to be gone.
  const auto is_unread = [&](const std::string& name) {
    return !plain && format_of(name) == FileFormat::kJsonLines && named.contains(name);
  };
  const auto is_kept = [&](const std::string& id) {
    bool kept = named.contains(id);
    for (size_t end = id.find(':'); !kept && end != std::string::npos; end = id.find(':', end + 1))
      kept = is_unread(id.substr(0, end));
    return kept;
  };
  for (const store::StoredDocument& document : writer.ledger().documents()) {
    if (is_kept(document.id)) continue;
    answer.pruned.push_back(Forget{document.id}.run(writer, on_progress));
    on_news.pruned(answer.pruned.back());
  }
}

Update::Answer Update::run(store::MemoWriter& writer, const OnProgress& on_progress) const {
  const Admitted list = admitted(writer);
  Answer answer = memorize(writer, list, OnNews(), on_progress);
  forget_others(writer, list, OnNews(), on_progress, answer);
  return answer;
}

Json Files::Answer::json() const {
  Json json = {{"object", "list"}, {"data", Json::array()}, {"pruned", Json::array()}};
  for (const auto& document : documents) json["data"].push_back(document.json());
  for (const auto& document : pruned) json["pruned"].push_back(document.json());
  json["refused"] = refusals;
  return json;
}

}  // namespace tessera::jobs
