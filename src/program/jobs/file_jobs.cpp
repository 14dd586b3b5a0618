#include "program/jobs/file_jobs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/data/file_texts.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/window_code.h"
#include "tessera/store/digest.h"
#include "tessera/store/memo_store.h"

namespace tessera::jobs {
namespace {

using config::Json;

constexpr size_t kSample = 1 << 16;  // bytes that tell how many tokens a text has

/// Why `document` cannot have the id that `other` has.
UsageError same_id(const FileDocument& document, const FileDocument& other) {
  if (other.name == document.name && document.source && other.source == document.source)
    return UsageError("two lines are {}; give each an \"id\" of its own", document.name);
  if (other.name == document.name) return UsageError("{} is named twice", document.name);
  return UsageError(
      "{} and {} would both be '{}'; memorize the folder above them, or one at a time with --id",
      other.name, document.name, document.id);
}

/// What all files and folders of the request hold together. refusals: gets what cannot be listed,
/// where the request keeps going.
Listing list_all(const Files& files, const std::filesystem::path& store,
                 std::vector<std::string>& refusals) {
  const ReadingRules rules{files.exclude, files.plain, store};
  Listing all;
  for (const auto& file : files.files) {
    if (file == "-") {
      all.documents.push_back({"", name_of_input(file), read_input(file)});
      continue;
    }
    Listing more = listing_of(file, rules);
    for (const auto& unlisted : more.unlisted) try {
        std::rethrow_exception(unlisted);
      } catch (const std::runtime_error& error) {
        if (files.prune || !files.keep_going) throw;  // what it held is not known to be gone
        refusals.push_back(error.what());
      }
    std::ranges::move(more.documents, std::back_inserter(all.documents));
    std::ranges::move(more.passed_over, std::back_inserter(all.passed_over));
  }
  return all;
}

/// The same, each document with an id of its own; of two with one id the first.
Listing list(const Files& files, const std::filesystem::path& store,
             std::vector<std::string>& refusals) {
  Listing all = list_all(files, store, refusals);
  if (files.id) {
    if (all.documents.size() > 1)
      throw UsageError("--id names one document, but there are {}", all.documents.size());
    for (auto& document : all.documents) document.id = *files.id;
  }
  std::vector<FileDocument> distinct;
  std::map<std::string, size_t> places;
  for (auto& document : all.documents) {
    if (document.id.empty() && !files.id)
      throw UsageError("standard input has no name; give it one with --id");
    const auto [known, is_new] = places.emplace(document.id, distinct.size());
    if (is_new) {
      distinct.push_back(std::move(document));
      continue;
    }
    const UsageError error = same_id(document, distinct[known->second]);
    if (!files.keep_going) throw error;
    refusals.push_back(error.what());
  }
  all.documents = std::move(distinct);
  return all;
}

/// Which of so many parts a document is in. It depends on the id alone, so that no document comes
/// into another part because others are added or gone.
size_t shard_of(const std::string& id, size_t shards) {
  constexpr size_t kDigits = 16;  // 64 bits of SHA-256
  return std::stoull(store::text_digest(id).substr(0, kDigits), nullptr, 16) % shards;
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

Admitted Files::admitted(const store::MemoWriter& writer) const {
  Admitted admitted;
  admitted.metadata = parse_metadata("meta", meta);
  double pairs = static_cast<double>(writer.ledger().totals().pairs);
  const Listing listing = list(*this, writer.path(), admitted.refusals);
  if (prune) check_nothing_is_missed(writer.ledger(), listing.passed_over);
  for (const FileDocument& document : listing.documents) {
    if (shard_of(document.id, shards) != shard % shards) continue;
    admitted.named.push_back(document.id);
    try {
      admit(document, writer, duplicates_of(*this), admitted, pairs);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::runtime_error& error) {
      const bool is_one_bad_file =
          listing.documents.size() > 1 && dynamic_cast<const DataError*>(&error);
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
