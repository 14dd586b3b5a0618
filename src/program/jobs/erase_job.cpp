#include "program/jobs/erase_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "program/jobs/glob.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/base/version.h"
#include "tessera/store/verify.h"

namespace tessera::jobs {
namespace {

namespace fs = std::filesystem;
using config::Json;
using store::MemoStore;
using store::StoredDocument;

bool text_contains(std::string_view text, const std::string& sought) {
  return !store::find_text(sought, store::Matching::kLetters, "", text,
                           [](const store::MatchThere&) { return false; });
}

bool contains(const MemoStore& store, const StoredDocument& document, const std::string& sought) {
  return text_contains(store::memorized_text(store.ledger(), store.tokenizer(), document), sought);
}

/// The documents that an id or a glob names. Throws UsageError where there is none.
std::set<std::string> named(const MemoStore& store, const std::vector<StoredDocument>& all,
                            const std::vector<std::string>& ids) {
  std::set<std::string> found, by_id;
  const std::vector<std::string> unerased = store.ledger().unerased();
  for (const std::string& id : ids) {
    if (store.ledger().find(id)) {
      if (!by_id.insert(id).second) throw UsageError("'{}' is named twice", id);
      found.insert(id);
      continue;
    }
    if (std::ranges::find(unerased, id) != unerased.end()) continue;
    bool is_glob_of_any = false;
    for (const StoredDocument& document : all) {
      if (!glob_matches(id, document.id)) continue;
      found.insert(document.id);
      is_glob_of_any = true;
    }
    if (!is_glob_of_any) store.ledger().get(id);  // says that there is none
  }
  return found;
}

std::vector<StoredDocument> chosen(const Erase& erase, const MemoStore& store) {
  check_argument(!erase.ids.empty() || !erase.containing.empty() || !erase.meta.empty(),
                 "say what to forget: ids, containing or meta");
  check_argument(erase.containing.empty() || !text_contains(" ", erase.containing),
                 "containing is white space, which tells no document from another");
  std::vector<StoredDocument> documents = store.ledger().documents();
  const std::set<std::string> ids = named(store, documents, erase.ids);
  const store::Metadata meta = parse_metadata("meta", erase.meta);
  std::erase_if(documents, [&](const StoredDocument& document) {
    const store::Metadata has = store.ledger().details(document).metadata;
    return (!erase.ids.empty() && !ids.contains(document.id)) ||
           !std::ranges::includes(has, meta) ||
           (!erase.containing.empty() && !contains(store, document, erase.containing));
  });
  return documents;
}

/// Finds out what would fail after the documents are gone.
void check_certificate_can_be_written(const Erase& erase, const fs::path& store) {
  if (erase.certificate.empty()) {
    check_argument(erase.key.empty(), "key signs a certificate, but none is asked for");
    return;
  }
  check_argument(erase.page() != erase.certificate,
                 "certificate is '{}', the name of the page beside it; give a name such as "
                 "erasure.json",
                 erase.certificate);
  check_outside(store, "certificate", erase.certificate);
  const fs::path folder = fs::absolute(erase.certificate).parent_path();
  if (::access(folder.c_str(), W_OK) != 0) throw SystemError(erase.certificate, "write", errno);
  for (const fs::path& file : {fs::path(erase.certificate), erase.page()}) {
    check_argument(!fs::exists(fs::symlink_status(file)),
                   "'{}' is there already; a certificate cannot be made again, so name a new file",
                   file.native());
    check_writable(file);
  }
  Json nothing = Json::object();
  if (!erase.key.empty()) store::sign(nothing, erase.key);
}

/// Throws where another process reads the store, and goes on to: no certificate could be made.
void check_unread(const store::Ledger& ledger, store::Readers readers, const Erase::OnNews& on_news,
                  const OnProgress& on_progress) {
  constexpr std::chrono::milliseconds kPause{100};
  constexpr int64_t kPauses = 100;
  if (!ledger.is_read()) return;
  on_news.begins("Waiting for readers");
  for (int64_t pause = 0; ledger.is_read(); ++pause) {
    if (readers == store::Readers::kPass || pause == kPauses)
      throw std::runtime_error(
          ledger.path() +
          ": another process has the store open for reading, a server for example, so that the "
          "text could not be erased now; nothing is forgotten and no certificate is written; stop "
          "that process and try again, or forget without a certificate");
    on_progress(pause, kPauses);
    std::this_thread::sleep_for(kPause);
  }
  on_news.begins(Erase::kDoing);
}

constexpr std::string_view kForgottenOnly =
    "; the documents are forgotten, but no certificate was written";

/// Does what comes between forgetting the documents and their certificate; where that fails, says
/// what became of both.
template <typename Work>
void before_certificate(const Work& work) {
  try {
    work();
  } catch (const Interrupted&) {
    throw Interrupted("interrupted" + std::string(kForgottenOnly));
  } catch (const DataError&) {
    throw;
  } catch (const store::ErasureDelayed& error) {
    throw store::ErasureDelayed(error.what() + std::string(kForgottenOnly));
  } catch (const SystemError& error) {
    throw SystemError(error.what() + std::string(kForgottenOnly), error.code());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(error.what() + std::string(kForgottenOnly));
  }
}

/// Forgets them and erases what is left of them in the files, all while no other process writes.
void forget(const Erase& erase, const fs::path& store, const std::vector<Forget::Answer>& documents,
            const Erase::OnNews& on_news, const OnProgress& on_progress) {
  store::MemoWriter writer(store);
  writer.ledger().check_integrity();
  int64_t tokens = 0, done = 0;
  for (const Forget::Answer& answer : documents) {
    const StoredDocument& document = answer.document;
    if (writer.ledger().get(document.id).checksum != document.checksum)
      throw std::runtime_error(
          fmt::format("'{}' was replaced by another process meanwhile", document.id));
    tokens += document.tokens;
  }
  if (!erase.certificate.empty())
    check_unread(writer.ledger(), erase.readers, on_news, on_progress);
  try {
    for (const Forget::Answer& answer : documents) {
      writer.forget(answer.document.id,
                    [&](int64_t so_far, int64_t) { on_progress(done + so_far, tokens); });
      done += answer.document.tokens;
      on_news.forgotten(answer);
    }
  } catch (const Interrupted&) {
    writer.checkpoint(erase.readers);
    throw Interrupted("interrupted; what is printed is forgotten, the rest kept");
  }
  const auto erase_text = [&] { writer.checkpoint(erase.readers); };
  if (erase.certificate.empty()) return erase_text();
  before_certificate(erase_text);
}

/// A document that has the text of one that is erased, and the id of that one. go: is erased, too.
std::optional<std::pair<std::string, std::string>> twin_of(
    const MemoStore& store, const std::vector<store::ErasedDocument>& erased,
    const std::set<std::string>& go) {
  std::map<std::string, std::string> ids;  // by digests
  for (const store::ErasedDocument& document : erased) ids[document.digest] = document.id;
  for (const StoredDocument& document : store.ledger().documents()) {
    if (go.contains(document.id)) continue;
    const auto details = store::known_details(store.ledger(), store.tokenizer(), document);
    if (const auto twin = ids.find(details.digest); twin != ids.end())
      return std::pair(document.id, twin->second);
  }
  return {};
}

/// Throws UsageError where a document that stays has the text of one that goes.
void refuse_twins(const MemoStore& store, const std::vector<store::ErasedDocument>& erased) {
  std::set<std::string> go;
  for (const store::ErasedDocument& document : erased) go.insert(document.id);
  if (const auto twin = twin_of(store, erased, go))
    throw UsageError(
        "'{}' has the same text as '{}' and would stay, so no certificate could hold; forget "
        "it, too",
        twin->first, twin->second);
}

/// Looks for what is left of the documents.
void look_for_remains(const fs::path& store, store::Remains& remains, store::Certificate& shown,
                      const Erase::OnNews& on_news, const OnProgress& on_progress) {
  {
    const MemoStore after(store);
    if (const auto twin = twin_of(after, shown.erased, {}))
      throw std::runtime_error(fmt::format(
          "another process has memorized the text of '{}' meanwhile, as '{}'; forget that, too",
          twin->second, twin->first));
    on_news.begins(Verify::kDoing);
    shown.digest_after = after.digest();
    const store::Verification verified = store::verify(after, on_progress);
    shown.digest_without = verified.digest;
    shown.remaining = verified.totals;
    remains.leave_out(after);
  }
  on_news.begins("Scanning files");
  shown.files = remains.scan(store, on_progress);
}

/// Of documents that are forgotten, whatever becomes of this.
void write_certificate(const Erase& erase, const store::Certificate& certificate) {
  Json json = store::json_of(certificate);
  if (!erase.key.empty()) store::sign(json, erase.key);
  try {
    write_file(erase.certificate, json.dump(2) + "\n");
    write_file(erase.page(), certificate_page(certificate, json));
  } catch (const SystemError& error) {
    throw SystemError(
        fmt::format(
            "{}; the documents are forgotten, but their certificate or its page was not written; "
            "it is\n{}",
            error.what(), json.dump(2)),
        error.code());
  }
}

}  // namespace

Erase::Answer Erase::run(const fs::path& store, const OnNews& on_news,
                         const OnProgress& on_progress) const {
  check_certificate_can_be_written(*this, store);
  Answer answer;
  answer.dry_run = dry_run;
  store::Certificate shown;
  shown.program = version_line();
  shown.time = std::time(nullptr);
  store::Remains remains;
  {
    const MemoStore before(store);
    if (!certificate.empty()) store::Remains::files_of(store);  // throws where it cannot be shown
    const std::vector<StoredDocument> documents = chosen(*this, before);
    answer.forgotten_earlier = before.ledger().unerased();
    for (const StoredDocument& document : documents) {
      answer.documents.push_back({document});
      if (certificate.empty()) continue;
      shown.erased.push_back(store::erased_document(before, document));
      remains.add(before, document);
    }
    if (!certificate.empty()) refuse_twins(before, shown.erased);
    on_news.begins("Comparing documents");
    answer.shared =
        store::shared_passages(before.ledger(), before.tokenizer(), documents, on_progress);
    shown.digest_before = before.digest();
  }
  on_news.listed(answer);
  if (dry_run) return answer;
  if (answer.documents.empty() && answer.forgotten_earlier.empty())
    throw UsageError("no document matches; nothing is forgotten");
  if (answer.documents.empty() && !certificate.empty())
    throw UsageError(
        "no document matches, and of those that were forgotten earlier no certificate can be made; "
        "without certificate, their text is erased");
  on_news.begins(kDoing);
  forget(*this, store, answer.documents, on_news, on_progress);
  if (certificate.empty()) return answer;
  before_certificate([&] { look_for_remains(store, remains, shown, on_news, on_progress); });
  write_certificate(*this, shown);
  if (!shown.proves())
    throw std::runtime_error(
        fmt::format("something of the documents is left; {} names the files", certificate));
  answer.certificate = std::move(shown);
  return answer;
}

Erase::Answer Erase::run(const fs::path& store, const OnProgress& on_progress) const {
  return run(store, OnNews(), on_progress);
}

Json Erase::Answer::json() const {
  Json json = {
      {"object", "list"}, {"dry_run", dry_run}, {"data", Json::array()}, {"shared", Json::array()}};
  for (const Forget::Answer& answer : documents) {
    json["data"].push_back(answer.json());
    json["data"].back()["deleted"] = !dry_run;
  }
  if (!dry_run)
    for (const std::string& id : forgotten_earlier) json["data"].push_back(json_of_earlier(id));
  for (const auto& passages : shared)
    json["shared"].push_back({{"document", passages.document},
                              {"words", passages.words},
                              {"share", passages.share},
                              {"line", passages.line}});
  if (certificate) json["certificate"] = store::json_of(*certificate);
  return json;
}

Json Erase::Answer::json_of_earlier(const std::string& id) {
  return {{"id", id}, {"object", "document"}, {"deleted", true}};
}

namespace {

/// A line of a history. Throws DataError where it is none.
Json event_of(const std::string& line, const std::string& file, size_t number) {
  Json event = config::parse_json(line, file);
  const auto is_absent_or = [&](const char* name, auto&& is_right) {
    const auto found = event.find(name);
    return found == event.end() || is_right(*found);
  };
  const auto is_number = [](const Json& value) { return value.is_number_integer(); };
  const auto is_text = [](const Json& value) {
    return value.is_string() && utf8::is_printable(value.get_ref<const std::string&>());
  };
  if (!event.is_object() || !is_absent_or("time", is_text) || !is_absent_or("bytes", is_number) ||
      !is_absent_or("tokens", is_number) || !is_absent_or("sha256", is_text))
    throw DataError(file, "line {} does not say what was forgotten: {}", number,
                    config::shown(event));
  return event;
}

}  // namespace

History::Answer History::run(const fs::path& store, const OnProgress&) const {
  const fs::path path = store::StoreFolder::open(store).path() / store::StoreFolder::kHistoryFile;
  Answer answer;
  if (begin) create_file(path);  // the history that another process notes meanwhile stays
  answer.kept = is_there(path);
  if (!answer.kept) return answer;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);)
    answer.events.push_back(event_of(line, path.native(), answer.events.size() + 1));
  return answer;
}

Json History::Answer::json() const {
  return {{"object", "list"}, {"kept", kept}, {"data", events}};
}

}  // namespace tessera::jobs
