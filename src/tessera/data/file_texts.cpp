#include "tessera/data/file_texts.h"

#include <fmt/format.h>
#include <libxml/HTMLparser.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/utf8.h"
#include "tessera/data/detail/character_set.h"

namespace tessera {
namespace {

constexpr std::string_view kSkipped[] = {"script", "style", "template", "noscript", "svg", "math"};
constexpr std::string_view kBlocks[] = {
    "address", "article", "aside", "blockquote", "body",     "br",         "caption", "dd",
    "details", "div",     "dl",    "dt",         "fieldset", "figcaption", "figure",  "footer",
    "form",    "h1",      "h2",    "h3",         "h4",       "h5",         "h6",      "header",
    "hr",      "li",      "main",  "nav",        "ol",       "option",     "p",       "pre",
    "section", "summary", "table", "textarea",   "title",    "tr",         "ul"};

template <size_t size>
bool is_one_of(std::string_view name, const std::string_view (&names)[size]) {
  return std::ranges::find(names, name) != std::end(names);
}

constexpr int kMostAttributes = 1 << 12;  // of a tag

/// The text of a page, from the parser's events.
class PageText {
 public:
  void begin(std::string_view element) {
    if (is_one_of(element, kSkipped)) ++skipped_;
    if (element == "pre" || element == "textarea") ++kept_spaces_;
    separate(element);
  }

  void end(std::string_view element) {
    if (is_one_of(element, kSkipped)) skipped_ = std::max(0, skipped_ - 1);
    if (element == "pre" || element == "textarea") kept_spaces_ = std::max(0, kept_spaces_ - 1);
    if (element != "br") separate(element);
  }

  void characters(std::string_view text) {
    if (skipped_ > 0) return;
    for (const char c : text) {
      const bool ends_line = std::exchange(after_return_, c == '\r') && c == '\n';
      if (!ends_line) add(c == '\r' ? '\n' : c);
    }
  }

  std::string take() {
    while (!text_.empty() && is_space(text_.back())) text_.pop_back();
    if (!text_.empty()) text_ += '\n';
    return std::move(text_);
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\f'; }

  /// What stands between the words before and after an element begins or ends.
  void separate(std::string_view element) {
    if (is_one_of(element, kBlocks))
      between_ = '\n';
    else if ((element == "td" || element == "th") && between_ != '\n')
      between_ = '\t';
  }

  void add(char c) {
    const bool is_kept = kept_spaces_ > 0 && (c == ' ' || c == '\n' || c == '\t');
    if (is_space(c) && !is_kept) {
      if (between_ == 0) between_ = ' ';
      return;
    }
    const char between = std::exchange(between_, 0);
    const bool begins_line = text_.empty() || text_.back() == '\n';
    if (between != 0 && !begins_line) text_ += between;
    text_ += c;
  }

  std::string text_;
  int skipped_ = 0, kept_spaces_ = 0;  // elements that are open
  char between_ = 0;                   // to be written before the next word
  bool after_return_ = false;          // of a line that may end in "\r\n"
};

std::string_view view(const xmlChar* text) {
  return reinterpret_cast<const char*>(text);
}
PageText& page_of(void* context) {
  return *static_cast<PageText*>(static_cast<htmlParserCtxtPtr>(context)->_private);
}

/// Events instead of a tree, which a hostile page could make too deep.
xmlSAXHandler page_events() {
  xmlSAXHandler events{};
  events.startElement = [](void* context, const xmlChar* name, const xmlChar**) {
    page_of(context).begin(view(name));
  };
  events.endElement = [](void* context, const xmlChar* name) { page_of(context).end(view(name)); };
  events.characters = [](void* context, const xmlChar* text, int size) {
    page_of(context).characters(view(text).substr(0, size));
  };
  events.ignorableWhitespace = events.characters;
  return events;
}

/// Whether a tag keeps the parser busy for hours: libxml2 before 2.14 compares each attribute with
/// all before it.
bool has_too_many_attributes([[maybe_unused]] htmlParserCtxtPtr parser) {
#if LIBXML_VERSION < 21400
  return parser->maxatts > 4 * kMostAttributes;  // the array doubles
#else
  return false;
#endif
}

/// A page as its parser asks for it, piece by piece, so that it can be refused.
struct PageReader {
  std::string_view left;
  htmlParserCtxtPtr parser;
  bool is_refused = false;

  static int read(void* context, char* buffer, int size) {
    auto& [left, parser, is_refused] = *static_cast<PageReader*>(context);
    is_refused = is_refused || has_too_many_attributes(parser);
    if (is_refused) return -1;
    const size_t count = left.copy(buffer, static_cast<size_t>(size));
    left.remove_prefix(count);
    return static_cast<int>(count);
  }
};

/// The page with "<?x " where "<?" or "<!" begins what browsers pass over to the next ">", such as
/// "<?= $x ?>" and "<![endif]>". libxml2 takes it for text, and instructions with long names, too.
std::string with_plain_instructions(std::string_view page) {
  constexpr std::string_view kOthers[] = {"<!--", "<!doctype", "<![cdata["};
  std::string result;
  for (size_t begin = 0, end = 0; begin < page.size(); begin = end) {
    end = std::min(page.find('<', begin + 1), page.size());
    const std::string_view part = page.substr(begin, end - begin);
    const bool is_other = std::ranges::any_of(kOthers, [&](std::string_view other) {
      return in_small_letters(part.substr(0, other.size())) == other;
    });
    const bool is_passed_over = part.starts_with("<?") || (part.starts_with("<!") && !is_other);
    result.append(is_passed_over ? "<?x " : part.substr(0, 2))
        .append(part, std::min(part.size(), size_t{2}));
  }
  return result;
}

nlohmann::json parsed_line(std::string_view line, const std::string& name) {
  nlohmann::json object = config::parse_sorted_json(line, name);
  const auto text = object.find("text");  // end() where it is no object
  if (text == object.end() || !text->is_string())
    throw DataError(name,
                    "is not an object with a field \"text\"; leave this file out: exclude it, or "
                    "choose the texts of the folder by their suffix");
  return object;
}

}  // namespace

FileFormat format_of(const std::filesystem::path& path) {
  const std::string end = in_small_letters(path.extension().native());
  if (end == ".html" || end == ".htm" || end == ".xhtml") return FileFormat::kHtml;
  if (end == ".jsonl" || end == ".ndjson") return FileFormat::kJsonLines;
  return end == ".pdf" ? FileFormat::kPdf : FileFormat::kPlain;
}

std::string text_of_html(std::string_view page, const std::string& name) {
  std::string converted;
  if (utf8::valid_prefix(page) != page.size()) page = converted = page_in_utf8(page);
  page = converted = with_plain_instructions(page);
  if (page.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    throw DataError(name, "is a page of {} bytes, at most 2^31 - 1 can be read", page.size());
  PageText text;
  const std::unique_ptr<htmlParserCtxt, void (*)(htmlParserCtxtPtr)> parser(htmlNewParserCtxt(),
                                                                            &htmlFreeParserCtxt);
  if (!parser) throw std::bad_alloc();
  *parser->sax = page_events();
  parser->_private = &text;
  // Always from UTF-8: libxml2 drops the rest of a page behind a byte that it cannot convert. The
  // events make no document; libxml2 would give the caller one that there is.
  PageReader reader{page, parser.get()};
  xmlFreeDoc(htmlCtxtReadIO(
      parser.get(), &PageReader::read, nullptr, &reader, nullptr, "UTF-8",
      HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET));
  if (reader.is_refused)
    throw DataError(name, "a tag before byte {} has more than {} attributes; leave this file out",
                    page.size() - reader.left.size(), kMostAttributes);
  return text.take();
}

std::string text_of_pdf(const std::filesystem::path& path, const CommandLimits& limits) {
  auto [text, status] = output_of("exec pdftotext -enc UTF-8 -nopgbrk " +
                                      shell_quoted(std::filesystem::absolute(path).native()) + " -",
                                  limits);
  if (text.size() > limits.output)
    throw DataError(path.native(), "has more than {:g} MB of text; leave this file out",
                    static_cast<double>(limits.output) / 1e6);
  if (status == 0) return std::move(text);
  // Ctrl-C also ends pdftotext, which says nothing of the file.
  InterruptGuard::stop_if_interrupted("interrupted");
  if (status == 127)
    throw DataError(path.native(),
                    "is read by pdftotext, which is not installed (Debian's poppler-utils)");
  if (status == -SIGXCPU)
    throw DataError(path.native(),
                    "pdftotext cannot read it in {} seconds of processor time; leave this file out",
                    limits.seconds);
  if (status == -SIGABRT || status == -SIGSEGV || status == -SIGBUS)
    throw DataError(path.native(),
                    "pdftotext cannot read it: it crashes, or needs more than {:g} GB of memory; "
                    "leave this file out",
                    static_cast<double>(limits.memory) / 1e9);
  throw DataError(path.native(), "pdftotext cannot read it");
}

std::vector<JsonLine> json_lines_of(std::string_view file, const std::string& name) {
  std::vector<JsonLine> lines;
  size_t number = 0;
  for (size_t begin = 0, end = 0; begin < file.size(); begin = end + 1) {
    end = std::min(file.find('\n', begin), file.size());
    ++number;
    const std::string_view line = file.substr(begin, end - begin);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const nlohmann::json object = parsed_line(line, fmt::format("{}: line {}", name, number));
    const auto id = object.find("id");
    const bool is_named = id != object.end() && (id->is_string() || id->is_number_integer());
    lines.push_back({!is_named         ? std::to_string(number)
                     : id->is_string() ? id->get<std::string>()
                                       : id->dump(),
                     begin, end});
  }
  return lines;
}

std::string text_of_json_line(std::string_view line, const std::string& name) {
  return parsed_line(line, name)["text"].get<std::string>();
}

}  // namespace tessera
