#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "lab/task/babi/story.h"

namespace tessera::test {

/// Answers the questions of bAbI stories from their words alone, by rules a reader would use. It
/// shares nothing with the simulator, so that each checks the other; the files of the data set
/// check both. One solver reads one story, in all 20 tasks.
class StorySolver {
 public:
  /// The answer to a line that is a question, in lower case; empty for a statement, or where the
  /// solver does not know.
  std::string read(const task::BabiLine& line) {
    Words words = task::babi_words(line.text);
    words.pop_back();  // the full stop or question mark
    if (line.is_question()) return answer(words);
    hear(words);
    return "";
  }

 private:
  using Words = std::vector<std::string>;
  struct Gift {
    std::string giver, object, receiver;
  };

  static bool has(const Words& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
  static size_t place_of(const Words& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) - words.begin();
  }
  /// "box of chocolates", "red square": the words from `begin` to `end` less articles.
  static std::string thing(const Words& words, size_t begin, size_t end) {
    std::string text;
    for (size_t i = begin; i < std::min(end, words.size()); ++i)
      if (words[i] != "the") text += (text.empty() ? "" : " ") + words[i];
    return text;
  }
  static bool any(const std::string& word, const std::set<std::string>& of) {
    return of.count(word) == 1;
  }

  void hear(Words words) {
    const std::optional<size_t> time = take_time(words);
    take_opener(words);
    if (words[0] == "the" || has(words, "afraid")) return hear_relation(words);
    Words who = {words[0]};
    if (words[1] == "and") {
      who.push_back(words[2]);
      words.erase(words.begin(), words.begin() + 2);
    }
    if (any(words[0], {"he", "she", "they"})) who = last_subjects_;
    last_subjects_ = who;
    hear_deed(who, words, time);
  }

  void hear_deed(const Words& who, const Words& words, std::optional<size_t> time) {
    const std::string verb = words[1];
    if (any(verb, {"moved", "went", "travelled", "journeyed"})) {
      for (const auto& name : who) {
        if (time) days_[name][*time] = words.back();
        move(name, words.back());
      }
    } else if (verb == "is") {
      hear_claim(who[0], words);
    } else if (any(verb, {"gave", "handed", "passed"})) {
      gifts_.push_back({who[0], words[3], words.back()});
      lose(who[0], words[3]);
      hold(words.back(), words[3]);
    } else {
      const std::string object = words.back() == "there" ? words[words.size() - 2] : words.back();
      if (any(verb, {"dropped", "left", "discarded", "put"}))
        lose(who[0], object);
      else
        hold(who[0], object);
    }
  }

  void hear_claim(const std::string& name, const Words& words) {
    if (has(words, "in")) {
      const bool no = has(words, "not") || has(words, "no");
      claims_[name] = has(words, "either") ? Words{words[5], words.back()} : Words{words.back()};
      denied_[name] = no;
      if (!no && !has(words, "either")) where_[name] = words.back();
    } else if (words[2] == "a") {
      kind_[name] = words[3];
      named_.push_back(name);
    } else {
      state_[name] = words[2];  // a colour or a mood
    }
  }

  void move(const std::string& name, const std::string& place) {
    where_[name] = place;
    claims_[name] = {place};
    denied_[name] = false;
    for (const auto& object : carried_[name]) note(object, place);
  }
  void hold(const std::string& name, const std::string& object) {
    carried_[name].push_back(object);
    if (where_.count(name))
      note(object, where_[name]);
    else
      where_.erase(object);
  }
  void lose(const std::string& name, const std::string& object) {
    std::erase(carried_[name], object);
    carried_[name];  // was told of
    if (where_.count(name)) note(object, where_[name]);
  }
  void note(const std::string& object, const std::string& place) {
    where_[object] = place;
    auto& history = history_[object];
    if (history.empty() || history.back() != place) history.push_back(place);
  }

  void hear_relation(const Words& words) {
    if (has(words, "afraid")) {
      fears_[words[0]] = words.back();
      return;
    }
    const size_t middle = has(words, "fits") ? place_of(words, "fits") : place_of(words, "is");
    const std::string a = thing(words, 0, middle);
    if (has(words, "fits")) {
      larger_[a].insert(thing(words, place_of(words, "inside") + 1, words.size()));
    } else if (has(words, "bigger")) {
      larger_[thing(words, place_of(words, "than") + 1, words.size())].insert(a);
    } else {
      const auto [step, end] = direction(words, middle + 1);
      const std::string b = thing(words, end, words.size());
      beside_[b].push_back({a, step});
      beside_[a].push_back({b, {-step[0], -step[1]}});
    }
  }

  using Step = std::array<int, 2>;
  /// "to the left of", "north of", "above": the step, and where what follows begins.
  static std::pair<Step, size_t> direction(const Words& words, size_t begin) {
    static const std::map<std::string, Step> kSteps = {
        {"north", {0, 1}}, {"above", {0, 1}}, {"south", {0, -1}}, {"below", {0, -1}},
        {"east", {1, 0}},  {"right", {1, 0}}, {"west", {-1, 0}},  {"left", {-1, 0}}};
    for (size_t i = begin; i < words.size(); ++i)
      if (kSteps.count(words[i]))
        return {kSteps.at(words[i]), i + 1 < words.size() && words[i + 1] == "of" ? i + 2 : i + 1};
    return {{0, 0}, words.size()};
  }

  static std::optional<size_t> take_time(Words& words) {
    const auto times = {Words{"yesterday"}, Words{"this", "morning"}, Words{"this", "afternoon"},
                        Words{"this", "evening"}};
    size_t index = 0;
    for (const Words& time : times) {
      const auto size = std::ssize(time);
      if (std::equal(time.begin(), time.end(), words.begin())) {
        words.erase(words.begin(), words.begin() + size);
        return index;
      }
      if (std::equal(time.begin(), time.end(), words.end() - size)) {
        words.erase(words.end() - size, words.end());
        return index;
      }
      ++index;
    }
    return {};
  }
  static void take_opener(Words& words) {
    if (any(words[0], {"after", "following"}))
      words.erase(words.begin(), words.begin() + 2);
    else if (any(words[0], {"afterwards", "then"}))
      words.erase(words.begin());
  }

  std::string answer(const Words& words) {
    if (words[0] == "who" || has(words, "give")) return answer_gift(words);
    if (words[0] == "how") return words[1] == "many" ? count(words[4]) : way(words);
    if (words[0] == "why") return state_[words[2]];
    if (words[0] == "where") return answer_where(words);
    if (words[0] == "does")
      return larger(thing(words, 1, place_of(words, "fit")),
                    thing(words, place_of(words, "in") + 1, words.size()));
    if (words[0] == "is") return answer_whether(words);
    if (has(words, "carrying")) return list(words[2]);
    if (has(words, "afraid")) return one_of(fears_[many_of(kind_[words[2]])]);
    if (has(words, "color")) return colour(words[3]);
    return neighbour(words);
  }

  std::string answer_where(const Words& words) {
    if (words[1] == "will") {
      static const std::map<std::string, std::string> kGoals = {
          {"hungry", "kitchen"}, {"thirsty", "kitchen"}, {"bored", "garden"}, {"tired", "bedroom"}};
      return kGoals.at(state_[words[2]]);
    }
    if (!has(words, "before")) return where_[words.back()];
    if (words[2] == "the") {  // an object: the last time that it was there
      const auto& history = history_[words[3]];
      for (size_t i = history.size(); i-- > 1;)
        if (history[i] == words.back()) return history[i - 1];
      return "";
    }
    std::string before, answer;  // the last time, too
    for (const auto& [time, place] : days_[words[2]]) {
      if (place == words.back() && !before.empty()) answer = before;
      before = place;
    }
    return answer;
  }

  std::string answer_whether(const Words& words) {
    if (has(words, "bigger"))
      return larger(thing(words, place_of(words, "than") + 1, words.size()),
                    thing(words, 1, place_of(words, "bigger")));
    if (words[1] != "the") {  // Is Mary in the office?
      const Words& places = claims_[words[1]];
      const bool named = has(places, words.back());
      if (denied_[words[1]] || !named) return "no";
      return places.size() == 1 ? "yes" : "maybe";
    }
    size_t middle = 1;
    while (!any(words[middle], {"above", "below", "to"})) ++middle;
    const auto [step, end] = direction(words, middle);
    const Step at = positions(thing(words, end, words.size()))[thing(words, 1, middle)];
    return at[0] * step[0] + at[1] * step[1] > 0 ? "yes" : "no";
  }

  std::string answer_gift(const Words& words) {
    const bool who_did = words[0] == "who" && words[1] == "did";
    for (size_t i = gifts_.size(); i-- > 0;) {
      const Gift& gift = gifts_[i];
      if (words[0] == "what") {
        if (gift.giver == words[2] && gift.receiver == words.back()) return gift.object;
      } else if (who_did) {
        if (gift.giver == words[2] && gift.object == words[5]) return gift.receiver;
      } else if (gift.object == words[3] && (words.size() == 4 || gift.receiver == words.back())) {
        return words[1] == "gave" ? gift.giver : gift.receiver;
      }
    }
    return "";
  }

  std::string count(const std::string& name) {
    return std::array{"none", "one", "two", "three"}[carried_[name].size()];
  }
  std::string list(const std::string& name) {
    std::string text;
    for (const auto& object : carried_[name]) text += (text.empty() ? "" : ",") + object;
    return text.empty() ? "nothing" : text;
  }
  std::string colour(const std::string& name) {
    for (size_t i = named_.size(); i-- > 0;) {  // the last one of the same kind
      const std::string& other = named_[i];
      if (other != name && kind_[other] == kind_[name] && state_.count(other)) return state_[other];
    }
    return "";
  }
  static std::string many_of(const std::string& animal) {
    return animal == "mouse"   ? "mice"
           : animal == "wolf"  ? "wolves"
           : animal == "sheep" ? "sheep"
                               : animal + "s";
  }
  static std::string one_of(const std::string& animals) {
    for (const char* animal : {"mouse", "wolf", "sheep", "cat"})
      if (many_of(animal) == animals) return animal;
    return "";
  }

  /// Whether `inner` is told to be smaller than `outer`, link by link.
  std::string larger(const std::string& inner, const std::string& outer) {
    const auto reaches = [&](const std::string& from, const std::string& to) {
      std::set<std::string> seen = {from};
      std::queue<std::string> open({from});
      for (; !open.empty(); open.pop())
        for (const auto& next : larger_[open.front()])
          if (seen.insert(next).second) open.push(next);
      return seen.count(to) == 1;
    };
    return reaches(inner, outer) ? "yes" : reaches(outer, inner) ? "no" : "";
  }

  /// Where everything lies, seen from `origin`.
  std::map<std::string, Step> positions(const std::string& origin) {
    std::map<std::string, Step> at = {{origin, {0, 0}}};
    std::queue<std::string> open({origin});
    for (; !open.empty(); open.pop())
      for (const auto& [next, step] : beside_[open.front()]) {
        const Step here = at[open.front()];
        if (at.try_emplace(next, Step{here[0] + step[0], here[1] + step[1]}).second)
          open.push(next);
      }
    return at;
  }

  /// "How do you go from the garden to the bedroom": by the doors that were told of.
  std::string way(const Words& words) {
    const std::string from = words[place_of(words, "from") + 2], to = words.back();
    std::map<std::string, std::string> ways = {{from, ""}};
    std::queue<std::string> open({from});
    for (; !open.empty(); open.pop())
      for (const auto& [next, step] : beside_[open.front()]) {
        const std::string letter = step[0] > 0 ? "e" : step[0] < 0 ? "w" : step[1] > 0 ? "n" : "s";
        const std::string way =
            ways[open.front()].empty() ? letter : ways[open.front()] + "," + letter;
        if (ways.try_emplace(next, way).second) open.push(next);
      }
    return ways[to];
  }

  /// "What is north of the office", "What is the office north of".
  std::string neighbour(const Words& words) {
    const bool given_first = words[2] == "the";
    const std::string given = given_first ? words[3] : words.back();
    Step step = direction(words, 2).first;
    if (given_first) step = {-step[0], -step[1]};
    for (const auto& [other, at] : beside_[given])
      if (at == step) return other;
    return "";
  }

  Words last_subjects_, named_;
  std::map<std::string, std::string> where_, kind_, state_, fears_;
  std::map<std::string, Words> claims_, carried_, history_;
  std::map<std::string, bool> denied_;
  std::map<std::string, std::map<size_t, std::string>> days_;
  std::map<std::string, std::set<std::string>> larger_;
  std::map<std::string, std::vector<std::pair<std::string, Step>>> beside_;
  std::vector<Gift> gifts_;
};

}  // namespace tessera::test
