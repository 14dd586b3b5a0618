#include "tessera/data/file_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libxml/xmlversion.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <map>
#include <string>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/utf8.h"
#include "tessera/data/command.h"
#include "tessera/data/text_source.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string text_of(std::string_view page) {
  return text_of_html(page, "page.html");
}

TEST(Html, IsTheTextThatAReaderSees) {
  EXPECT_EQ(text_of("<!DOCTYPE html><html><head><title>Orders &amp; dues</title>"
                    "<style>p { color: red }</style><script>var a = '<b>no';</script></head>"
                    "<body><!-- no --><h1>Order 17</h1><p>Mr. Turing,<br>12  Bletchley\n"
                    "Road, <b>two</b> type<i>writers</i> &mdash; caf&eacute;."
                    "<p>Paid.</body></html>"),
            "Orders & dues\nOrder 17\nMr. Turing,\n12 Bletchley Road, two typewriters — café.\n"
            "Paid.\n");
}

TEST(Html, BlocksHaveLinesAndCellsTabs) {
  EXPECT_EQ(text_of("<ul><li>one<li>two</ul>after<table><tr><th>a</th><th>b</th></tr>"
                    "<tr><td>c<td>d</table>"),
            "one\ntwo\nafter\na\tb\nc\td\n");
  EXPECT_EQ(text_of("<p>x</p>\n\n<div><div>y</div></div> z"), "x\ny\nz\n");
}

TEST(Html, SpaceIsKeptInPre) {
  EXPECT_EQ(text_of("<p>a   b</p><pre>x  y\n  z</pre>"), "a b\nx  y\n  z\n");
  EXPECT_EQ(text_of("<pre>x\r\n\r\n  y\rz\r</pre>"), "x\n\n  y\nz\n");
  EXPECT_EQ(text_of("<p>x\r\ny\rz<pre>\r</pre>\n"), "x y z\n");
}

TEST(Html, OtherCharacterSetsAreThoseThatThePageNames) {
  EXPECT_EQ(text_of("<meta charset='iso-8859-1'><p>caf\xE9"), "café\n");
  EXPECT_EQ(text_of("<p>café"), "café\n");
  // As browsers do.
  EXPECT_EQ(text_of("<meta charset='iso-8859-1'><p>it\x92s"), "it’s\n");
  EXPECT_EQ(text_of("<meta charset='gb2312'><p>\xE9\x46"), "镕\n");  // in GBK alone
}

TEST(Html, AByteThatIsNotOfTheCharacterSetLosesNoText) {
  EXPECT_EQ(text_of("<meta charset='windows-1252'><p>\x93hi\x94 \x81 x</p><p>after</p>"),
            "“hi” \uFFFD x\nafter\n");
  EXPECT_EQ(text_of("<META content='text/html; charset=Shift_JIS'><p>\x82\xA0\x82 more</p>after"),
            "あ\uFFFD more\nafter\n");
  EXPECT_EQ(text_of("<meta charset=\"utf-8\"><p>caf\xE9 caf\xC3\xA9 \xE2\x80</p>after"),
            "caf\uFFFD café \uFFFD\nafter\n");
  // A name that says nothing of the bytes beyond ASCII.
  for (const char* name : {"us-ascii", "utf-16", "utf-32", "klingon", "", "x-", "//translit"})
    EXPECT_EQ(text_of(std::string("<meta charset='") + name + "'><p>caf\xE9</p>after"),
              "café\nafter\n")
        << name;
}

TEST(Html, NamesItsCharacterSetInAnyOfItsWays) {
  for (const char* page : {"<meta charset=koi8-r>", "<META CHARSET = 'KOI8-R' >",
                           "<meta http-equiv='Content-Type' content='text/html;charset=koi8-r'>",
                           "<?xml version='1.0' encoding='koi8-r'?>",
                           "<p title='<'><meta name='x'><meta charset=koi8-r>"})
    EXPECT_EQ(text_of(std::string(page) + "<p>\xC4\xC1"), "да\n") << page;
  EXPECT_EQ(text_of("<meta charset=x-sjis>\x82\xA0"), "あ\n");
  EXPECT_EQ(text_of(std::string("\xFF\xFE<\0p\0>\0a\0\xE9\0", 12)), "aé\n");
  EXPECT_EQ(text_of(std::string("\xFE\xFF\0<\0p\0>\0a\0\xE9", 12)), "aé\n");
}

TEST(Html, AnythingIsAPage) {
  EXPECT_EQ(text_of(""), "");
  EXPECT_EQ(text_of("   "), "");
  EXPECT_EQ(text_of("no tags"), "no tags\n");
  EXPECT_EQ(text_of("<p>cut <b"), "cut\n");
  EXPECT_EQ(text_of("</p></script>x"), "x\n");
  std::string deep;
  for (int i = 0; i < 200000; ++i) deep += "<div>";
  EXPECT_EQ(text_of(deep + "deep"), "deep\n");
}

TEST(Html, WhatBrowsersPassOverIsNoText) {
  EXPECT_EQ(
      text_of("<!doctype html>a<![if !lists]>1.<![endif]>b<!-- <!x> -->c<!x>d<?= $x ?>e<!>f<"),
      "a1.bcdef<\n");
  const std::string name(20'000, 'n');
  EXPECT_EQ(text_of("a<?" + name + "?>b<?" + name + " x?>c<p title='<?'>d"), "abc\nd\n");
}

TEST(Html, ATagMayBeLongButHasNotAnyNumberOfAttributes) {
  const auto tag = [](int attributes) {
    std::string page = "<p>before</p>\n<img";
    for (int i = 0; i < attributes; ++i) page += " a" + std::to_string(i) + "='>'";
    return page + "><p>after";
  };
  EXPECT_EQ(text_of(tag(4000)), "before\nafter\n");
#if LIBXML_VERSION < 21400
  EXPECT_THAT(test::message_of<DataError>([&] { text_of(tag(100'000)); }),
              testing::ContainsRegex("page.html: a tag before byte [0-9]+ has more than 4096"));
#else
  EXPECT_EQ(text_of(tag(100'000)), "before\nafter\n");
#endif
  EXPECT_EQ(text_of("<p>x<img src='data:image/png;base64," + std::string(1'000'000, 'A') +
                    "' alt='" + std::string(100'000, ' ') + "'>y"),
            "xy\n");
}

RC_GTEST_PROP(Html, OfAnyBytesIsUtf8WithoutTags, ()) {
  using namespace std::string_literals;
  static const std::vector<std::string> kParts = {
      "<p>",    "</p>", "<script>", "</script>", "<pre>",
      "</pre>", "<td",  ">",        "&amp;",     "&#0;",
      "é",      "\xE9", "<!--",     "-->",       "<![CDATA[",
      "word",   " ",    "\n",       "\0"s,       "<meta charset=utf-16>"};
  std::string page;
  for (const auto& part : *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kParts)))
    page += part;
  const std::string text = text_of(page);
  RC_ASSERT(utf8::valid_prefix(text) == text.size());
}

class FileTexts : public testing::Test {
 protected:
  std::vector<std::pair<std::string, std::string>> texts_of(const std::filesystem::path& path,
                                                            bool plain = false) {
    std::vector<std::pair<std::string, std::string>> texts;
    TextSource::from_path(path, "", plain)
        .for_each([&](const std::string& name, std::string_view text) {
          texts.emplace_back(name.substr(folder_.path().native().size() + 1), text);
        });
    return texts;
  }
  std::string refusal_of(const std::filesystem::path& path) {
    return message_of<DataError>([&] { texts_of(path); });
  }

  /// Of a PDF that is read by this script instead of pdftotext.
  std::string text_by_script(const std::string& script, const CommandLimits& limits = {}) {
    write_file(folder_ / "pdftotext", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder_ / "pdftotext", std::filesystem::perms::owner_all);
    const std::map<std::string, std::string> here = {{"PATH", folder_.path().native()}};
    const test::Environment with_script(here);
    return text_of_pdf(folder_ / "a.pdf", limits);
  }

  const test::TemporaryFolder folder_;
};

TEST_F(FileTexts, AreChosenByTheEndOfAName) {
  for (const char* name : {"a.html", "a.HTM", "b.c/d.xhtml"})
    EXPECT_EQ(format_of(name), FileFormat::kHtml) << name;
  for (const char* name : {"a.jsonl", "a.ndjson"})
    EXPECT_EQ(format_of(name), FileFormat::kJsonLines) << name;
  EXPECT_EQ(format_of("a.Pdf"), FileFormat::kPdf);
  for (const char* name : {"a.txt", "html", ".html", "a.html.txt", "a.json"})
    EXPECT_EQ(format_of(name), FileFormat::kPlain) << name;
}

TEST_F(FileTexts, OfAPageAreItsTextOrItsBytes) {
  write_file(folder_ / "a.html", "<p>one  <b>two</b>");
  EXPECT_THAT(texts_of(folder_ / "a.html"), ElementsAre(Pair("a.html", "one two\n")));
  EXPECT_THAT(texts_of(folder_ / "a.html", true),
              ElementsAre(Pair("a.html", "<p>one  <b>two</b>")));
}

TEST_F(FileTexts, OfJsonLinesAreADocumentEach) {
  write_file(folder_ / "a.jsonl",
             "{\"text\": \"first\\nline\"}\n\n{\"id\": \"x\", \"text\": \"\"}\r\n"
             "{\"text\": \"third\", \"id\": 7, \"more\": [1]}\n{\"id\": null, \"text\": \"é\"}");
  EXPECT_THAT(texts_of(folder_ / "a.jsonl"),
              ElementsAre(Pair("a.jsonl:1", "first\nline"), Pair("a.jsonl:x", ""),
                          Pair("a.jsonl:7", "third"), Pair("a.jsonl:5", "é")));
  EXPECT_EQ(texts_of(folder_ / "a.jsonl", true).size(), 1u);
}

TEST_F(FileTexts, RefuseALineWithoutATextAndNameIt) {
  for (const char* line : {"{\"txt\": \"a\"}", "[\"text\"]", "{\"text\": 3}", "\"text\"", "text"}) {
    write_file(folder_ / "a.jsonl", std::string("{\"text\": \"a\"}\n") + line);
    EXPECT_THAT(refusal_of(folder_ / "a.jsonl"), HasSubstr("a.jsonl: line 2")) << line;
  }
}

TEST_F(FileTexts, RefuseAFileOfEmptyLines) {
  write_file(folder_ / "a.jsonl", "\n  \n");
  EXPECT_THAT(refusal_of(folder_ / "a.jsonl"), HasSubstr("a.jsonl: holds no document"));
  write_file(folder_ / "b.txt", "text");
  EXPECT_THAT(texts_of(folder_.path()), ElementsAre(Pair("b.txt", "text")));
}

TEST_F(FileTexts, OfAPdfAreWhatPdftotextPrints) {
  if (output_of("command -v pdftotext").status != 0) GTEST_SKIP() << "no pdftotext here";
  const std::string content = "BT /F 24 Tf 20 100 Td (Order 17, paid) Tj ET";
  write_file(folder_ / "it's a.pdf",
             "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
             "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
             "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R"
             "/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n"
             "4 0 obj<</Length " +
                 std::to_string(content.size()) + ">>stream\n" + content +
                 "\nendstream endobj\ntrailer<</Root 1 0 R>>\n");
  EXPECT_THAT(texts_of(folder_ / "it's a.pdf").front().second, HasSubstr("Order 17, paid"));
  write_file(folder_ / "no.pdf", "no");
  EXPECT_THAT(refusal_of(folder_ / "no.pdf"), HasSubstr("pdftotext cannot read it"));
}

TEST_F(FileTexts, SayWhatReadsAPdf) {
  write_file(folder_ / "a.pdf", "%PDF-1.4");
  const std::map<std::string, std::string> nowhere = {{"PATH", "/nowhere"}};
  const test::Environment without_programs(nowhere);
  EXPECT_THAT(refusal_of(folder_ / "a.pdf"), HasSubstr("not installed (Debian's poppler-utils)"));
}

TEST_F(FileTexts, OfAPdfHaveLimits) {
  const CommandLimits limits{.seconds = 7, .memory = 1 << 30, .output = 1000};
  const auto text_by = [&](const std::string& script) { return text_by_script(script, limits); };
  EXPECT_EQ(text_by("echo $(ulimit -t) $(ulimit -v)"), "7 1048576\n");
  EXPECT_EQ(text_by("printf %1000s").size(), 1000u);
  const auto refusal_by = [&](const std::string& script) {
    return message_of<DataError>([&] { text_by(script); });
  };
  EXPECT_THAT(refusal_by("while :; do echo endless; done"),
              HasSubstr("a.pdf: has more than 0.001 MB of text"));
  EXPECT_THAT(refusal_by("kill -XCPU $$"), HasSubstr("cannot read it in 7 seconds"));
  EXPECT_THAT(refusal_by("kill -ABRT $$"), HasSubstr("needs more than 1.07374 GB of memory"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
}

TEST_F(FileTexts, SayThatCtrlCEndedTheReaderOfAPdf) {
  EXPECT_THAT(message_of<DataError>([&] { text_by_script("kill -INT $$"); }),
              HasSubstr("pdftotext cannot read it"));
  const InterruptGuard guard;
  std::raise(SIGINT);  // which a terminal sends to both
  EXPECT_THROW(text_by_script("kill -INT $$"), Interrupted);
  EXPECT_THROW(text_by_script("while :; do :; done"), Interrupted);
}

}  // namespace
}  // namespace tessera
