// Plots that tell what is true of the world: animals, weather, plants, work.
#include "lab/task/stories/scenes.h"

namespace tessera::task::stories {
namespace {

/// The fact that `answer` goes with `subject`, as a claim; the words become entities.
Claim fact(Teller& t, std::string_view subject, std::string_view answer,
           const std::vector<std::string_view>& wrong) {
  const Id known = t.add_word('v', subject), right = t.add_word('w', answer);
  t.suppose({begin(Relation::kFact, known, right)});
  std::vector<Id> others;
  for (std::string_view text : wrong) others.push_back(t.add_word('_', text));
  return object_is(Relation::kFact, known, right, std::move(others));
}

/// What two other rows say, where they differ from this one in the class that decides.
template <typename Row, size_t kRows>
std::vector<std::string_view> two_others(Teller& t, const Row (&rows)[kRows], const Row& row,
                                         std::string_view Row::*class_of,
                                         std::string_view Row::*text_of) {
  std::vector<std::string_view> texts;
  while (texts.size() < 2) {
    const Row& other = t.pick(rows);
    const std::string_view text = other.*text_of;
    if (other.*class_of == row.*class_of || text.empty() || text == row.*text_of) continue;
    if (texts.empty() || texts.front() != text) texts.push_back(text);
  }
  return texts;
}

void ask_what_it_eats(Teller& t, const Animal& animal) {
  const auto wrong = two_others(t, kAnimals, animal, &Animal::diet, &Animal::eats);
  t.ask(kFact, "food of animals", fact(t, animal.many, animal.eats, wrong), {},
        {"\"What do {v} like to eat?\" asked {A}. \"They like to eat| {x},\" said {M}.",
         "{A} asked, \"What do {v} eat?\" {M} answered, \"They eat| {x}.\""});
}

void ask_what_it_says(Teller& t, const Animal& animal) {
  const auto wrong = two_others(t, kAnimals, animal, &Animal::says, &Animal::says);
  t.ask(kFact, "voices of animals", fact(t, animal.one, animal.says, wrong), {},
        {"\"What does the {v} say?\" asked {M}. \"It says| {x}!\" shouted {A}.",
         "\"I can talk like {a v},\" said {A}. \"Listen:| {x}, {w}!\""});
}

void ask_where_it_lives(Teller& t, const Animal& animal) {
  const auto wrong = two_others(t, kAnimals, animal, &Animal::region, &Animal::home);
  t.ask(kFact, "homes of animals", fact(t, animal.many, animal.home, wrong), {},
        {"\"Where do {v} live?\" asked {A}. \"They live| {x},\" said {M}.",
         "{M} read aloud, \"{v} live| {x}.\""});
}

void ask_what_it_can_do(Teller& t, const Animal& animal) {
  static constexpr std::string_view kNever[] = {"read books", "drive cars", "bake bread",
                                                "play the piano"};
  const int question = t.pick(std::array<int, 4>{0, 0, 1, 2});
  std::string_view deed = "fly";
  bool yes = animal.flies;
  if (question == 1 && animal.swims) {
    deed = "swim";
    yes = true;
  } else if (question == 2) {
    deed = t.pick(kNever);
    yes = false;
  }
  const std::string can = std::string(animal.many) + " can " + std::string(deed);
  const std::string cannot = std::string(animal.many) + " cannot " + std::string(deed);
  const std::string right = yes ? "Yes, " + can : "No, " + cannot,
                    wrong = yes ? "No, " + cannot : "Yes, " + can;
  const Claim claim = fact(t, std::string(animal.many) + " " + std::string(deed), right, {wrong});
  t.ask(kFact, "what animals can do", claim, {},
        {"\"Can {v}?\" asked {A}. \"|{x},\" said {M}.",
         "{A} wanted to know, \"Can {v}?\" {M} said, \"|{x}.\""});
}

void animal_book(Teller& t) {
  be_home(t);
  t.tell({"They looked at a book about animals.", "{M} opened a big book full of animals.",
          "On the sofa they read about animals from all over the world."});
  const size_t questions = 2 + (t.chance(0.5) ? 1 : 0);
  for (size_t i = 0; i < questions; ++i) {
    const Animal& animal = t.pick(kAnimals);
    const uint64_t question = t.random().below(4);
    if (question == 0)
      ask_what_it_eats(t, animal);
    else if (question == 1 && !animal.says.empty())
      ask_what_it_says(t, animal);
    else if (question == 2)
      ask_where_it_lives(t, animal);
    else
      ask_what_it_can_do(t, animal);
  }
  t.tell({"{A} wanted to know everything about animals.", "\"Animals are amazing,\" said {A}.",
          "They turned page after page until it was late."});
}

void weather(Teller& t) {
  be_home(t);
  const Weather& weather = t.pick(kWeathers);
  t.tell({"{A} wanted to play outside.", "{A} wanted to go out and build something.",
          "\"May I go outside?\" asked {A}."});
  const auto wrong = two_others(t, kWeathers, weather, &Weather::kind, &Weather::need);
  t.ask(kFact, "weather", fact(t, weather.sign, weather.need, wrong), {},
        {"{v}, so {M} told {A.him}, \"You should| {x}.\"",
         "{v}. \"Before you go, please| {x},\" said {M}."});
  t.tell({"{A} did what {M} said.", "\"Good idea!\" said {A}, and did it at once.",
          "{A} did not want to, but then {A.he} did it."});
  t.tell({"Outside it was lovely, and {A} played for an hour.",
          "Then {A} ran out into the yard and laughed.", "{A} stayed well all day long."});
}

void need(Teller& t) {
  go_out(t, Teller::Where::kOutdoors);
  const Id hero = t['A'];
  const Need& need = t.pick(kNeeds);
  const auto wrong = two_others(t, kNeeds, need, &Need::deed, &Need::deed);
  const Claim claim = fact(t, need.feeling, need.deed, wrong);
  t.add_word('y', need.because);
  t.tell({"{A} enjoyed every minute.", "There was so much to see!",
          "Many people were there, and music was playing."});
  t.tell({go(hero, t.home())},
         {"At last {A} came home. {A.he} {y}.", "When {A} got back home, {A.he} {y}."});
  t.ask(kFact, "needs", claim, {},
        {"{A} was so {v} that {A.he}| {x}.", "{A} felt {v}, so {A.he}| {x}."});
  t.tell({"Now {A} felt much better.", "\"That was just what I needed,\" said {A}.",
          "{M} kissed {A.him} on the cheek."});
}

void seed(Teller& t) {
  go_out(t, Teller::Where::kOutdoors);
  const Seed& seed = t.pick(kSeeds);
  const auto wrong = two_others(t, kSeeds, seed, &Seed::plant, &Seed::plant);
  const Claim claim = fact(t, seed.seed, seed.plant, wrong);
  t.tell({"There {A.he} found {v} on the ground.",
          "\"Look what I have found!\" said {A}. It was {v}."});
  t.tell({"{A} dug a hole, put it into the earth and watered it.",
          "{A} planted it in the soft soil."});
  t.tell({"The sun shone, and the rain fell. {A} waited and waited.",
          "\"Please grow,\" {A} whispered every day.", "For many days nothing happened."});
  t.ask(kFact, "what grows from it", claim, {},
        {"Then a green leaf came out of the ground, and it grew into| {x}.",
         "After some time, out of the earth came| {x}."});
  t.tell({"{A} was proud of it.", "Everybody came to see it.", "A bird sat on it and sang."});
}

void curious(Teller& t) {
  be_home(t);
  t.tell({"{A} had many questions.", "{A} was looking out of the window and thinking.",
          "\"{M.name}, I want to know something,\" said {A}."});
  const Lore* before = nullptr;
  for (int i = 0; i < 2; ++i) {
    const Lore* row = &t.pick(kLore);
    if (row == before) continue;
    before = row;
    const Claim claim = fact(t, row->question, row->answer, {row->wrong1, row->wrong2});
    t.ask(kFact, "the world", claim, {},
          {"\"{v}?\" {A} asked. \"|{x},\" said {M}.",
           "{A} asked, \"{v}?\" {M} smiled and said, \"|{x}.\""});
  }
  t.tell({"\"You are so wise, {M.name},\" said {A}.", "Now {A} knew it and told everybody.",
          "\"And now it is my turn to ask,\" said {M}."});
}

void work(Teller& t) {
  go_out(t);
  const Job& job = t.pick(kJobs);
  const auto wrong = two_others(t, kJobs, job, &Job::work, &Job::work);
  const Claim claim = fact(t, job.who, job.work, wrong);
  t.add_stranger('N', job.who, Pronoun::kThey);
  t.tell({"There {A.he} met {a N}.", "{a N} was standing there and greeted {A.him}."});
  t.ask(kFact, "work", claim, {},
        {"\"What does {a v} do?\" asked {A}. \"{a v}| {x},\" was the answer.",
         "\"I am {a v}. {a v} is somebody who| {x},\" said {N}."});
  t.tell({"\"When I am big, I want to do that, too,\" said {A}.",
          "{A} thought that it was a good job.",
          "{N} let {A.him} try it, and it was not easy at all."});
}

void helped_animal(Teller& t) {
  go_out(t, Teller::Where::kOutdoors);
  const Id hero = t['A'];
  static constexpr std::string_view kHelped[] = {"bird",     "fox", "mouse",  "deer",   "hedgehog",
                                                 "squirrel", "owl", "turtle", "rabbit", "crow"};
  std::string_view noun = t.pick(kHelped);
  while (t.entity(hero).noun == noun) noun = t.pick(kHelped);
  t.add_stranger('N', noun, Pronoun::kIt);
  const Id spot = t.add_spot('s', hero), thing = t.add_possession('o', kTreasures);
  t.tell({"Suddenly {A} heard a cry. {a N} was stuck {at s}.",
          "{a N} had hurt its leg and lay {at s}."});
  t.tell({"\"Please help me!\" it said.", "It looked at {A} with big eyes.",
          "\"Don't be afraid,\" said {A}."});
  t.tell({"{A} helped it and gave it some water.", "Very gently, {A} helped it to get up."});
  t.tell({put(hero, thing, spot)},
         {"But while {A} did that, {A.his} {o} fell down and stayed {at s}.",
          "{A} did not notice that {A.he} dropped {A.his} {o} {at s}."});
  const Id animal = t['N'];
  t.tell({take(animal, thing)},
         {"Later the {N.noun} came running and carried something in its mouth.",
          "A little later the {N.noun} came back. It was holding something."});
  t.ask(kConsistency, "what came back",
        subject_is(Relation::kHolder, animal, thing, t.others(kTreasures, 2)),
        {give(animal, thing, hero)},
        {"\"You lost this,\" it said and gave {A}| {the x}.",
         "It laid something down in front of {A}. It was| {the x}!"});
  t.tell({"\"Thank you! Now we are friends,\" said {A}.", "One good deed brings another.",
          "From then on they met every week."});
}

void magic_wish(Teller& t) {
  go_out(t, Teller::Where::kOutdoors);
  const Id hero = t['A'], thing = t.add_thing('o', t.chance(0.5) ? Nouns(kToys) : kGifts);
  static constexpr std::string_view kMagic[] = {"unicorn",      "kind spirit", "little elf",
                                                "talking fish", "golden bird", "friendly ghost",
                                                "tiny dragon"};
  t.add_stranger('N', t.pick(kMagic), Pronoun::kIt);
  t.tell({"{A} sat down under a tree and fell asleep.", "Everything was very quiet."});
  t.tell({"All at once {a N} stood in front of {A.him}. \"You have one wish,\" it said.",
          "Then {a N} appeared. \"Make a wish, {A.name},\" it said."});
  t.tell({begin(Relation::kWish, hero, thing)},
         {"\"I wish I had {a o},\" {A} whispered.", "{A} said, \"I would like {a o}, please.\""});
  t.ask(kConsistency, "the wish",
        object_is(Relation::kWish, hero, thing, t.others(t.chance(0.5) ? Nouns(kToys) : kGifts, 2)),
        {make(hero, thing), finish(Relation::kWish, hero, thing)},
        {"There was a flash of light, and in {A's} hands lay| {a x}.",
         "The {N.noun} clapped three times. When {A} looked down, {A.he} was holding| {a x}."});
  t.tell({"\"But remember to share,\" said {N} and was gone.",
          "{A} rubbed {A.his} eyes. It was not a dream!", "\"Thank you!\" said {A} and bowed."});
}

}  // namespace

std::span<const Scene> scenes_of_nature() {
  static constexpr Scene kScenes[] = {{"animal book", animal_book},
                                      {"weather", weather},
                                      {"need", need},
                                      {"seed", seed},
                                      {"curious", curious},
                                      {"work", work},
                                      {"helped animal", helped_animal},
                                      {"magic wish", magic_wish}};
  return kScenes;
}

}  // namespace tessera::task::stories
