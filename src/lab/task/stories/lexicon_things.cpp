// What people have, want, lose and eat.
#include "lab/task/stories/lexicon.h"

namespace tessera::task::stories {
namespace {

constexpr Number kMany = Number::kMany, kMass = Number::kMass;

}  // namespace

Nouns toys() {
  static constexpr Noun kToys[] = {
      {"ball"},         {"doll"},      {"kite"},       {"toy car"},      {"teddy bear"},
      {"robot"},        {"drum"},      {"toy train"},  {"puppet"},       {"top"},
      {"yo-yo"},        {"toy boat"},  {"balloon"},    {"toy truck"},    {"jump rope"},
      {"scooter"},      {"wagon"},     {"whistle"},    {"toy plane"},    {"puzzle"},
      {"storybook"},    {"hoop"},      {"toy horse"},  {"frisbee"},      {"rattle"},
      {"toy rocket"},   {"marble"},    {"toy sword"},  {"crayon box"},   {"toy castle"},
      {"toy dinosaur"}, {"trumpet"},   {"tambourine"}, {"toy bus"},      {"rag doll"},
      {"sled"},         {"toy crown"}, {"guitar"},     {"toy elephant"}, {"music box"}};
  return kToys;
}

Nouns treasures() {
  static constexpr Noun kTreasures[] = {
      {"shell"},    {"coin"},    {"key"},    {"feather"}, {"stone"},    {"button"}, {"pearl"},
      {"ring"},     {"medal"},   {"map"},    {"bottle"},  {"necklace"}, {"pebble"}, {"crystal"},
      {"bracelet"}, {"lantern"}, {"mirror"}, {"ribbon"},  {"acorn"},    {"spoon"},  {"watch"},
      {"bell"},     {"compass"}, {"locket"}, {"gem"}};
  return kTreasures;
}

Nouns gifts() {
  static constexpr Noun kGifts[] = {{"scarf"},
                                    {"hat"},
                                    {"book"},
                                    {"lamp"},
                                    {"cup"},
                                    {"sweater"},
                                    {"backpack"},
                                    {"umbrella"},
                                    {"picture"},
                                    {"clock"},
                                    {"pillow"},
                                    {"blanket"},
                                    {"vase"},
                                    {"mittens", kMany},
                                    {"slippers", kMany},
                                    {"boots", kMany},
                                    {"paints", kMany},
                                    {"camera"},
                                    {"flute"},
                                    {"basket"},
                                    {"candle"},
                                    {"notebook"},
                                    {"telescope"},
                                    {"apron"},
                                    {"gloves", kMany},
                                    {"pajamas", kMany},
                                    {"jacket"},
                                    {"belt"},
                                    {"mug"},
                                    {"flashlight"}};
  return kGifts;
}

Nouns sweets() {
  static constexpr Noun kSweets[] = {{"cake"},
                                     {"cookie"},
                                     {"candy", kMass},
                                     {"chocolate", kMass},
                                     {"ice cream", kMass},
                                     {"pie"},
                                     {"donut"},
                                     {"muffin"},
                                     {"lollipop"},
                                     {"cupcake"},
                                     {"pudding", kMass},
                                     {"pancake"},
                                     {"brownie"},
                                     {"waffle"},
                                     {"popcorn", kMass},
                                     {"jelly", kMass}};
  return kSweets;
}

Nouns fruits() {
  static constexpr Noun kFruits[] = {{"apple"},
                                     {"banana"},
                                     {"orange"},
                                     {"pear"},
                                     {"peach"},
                                     {"plum"},
                                     {"mango"},
                                     {"lemon"},
                                     {"melon"},
                                     {"grapes", kMany},
                                     {"kiwi"},
                                     {"apricot"},
                                     {"pineapple"},
                                     {"fig"},
                                     {"coconut"},
                                     {"cherries", kMany},
                                     {"strawberries", kMany},
                                     {"blueberries", kMany},
                                     {"raspberries", kMany}};
  return kFruits;
}

Nouns vegetables() {
  static constexpr Noun kVegetables[] = {
      {"carrot"},   {"potato"},         {"tomato"},      {"onion"},   {"pumpkin"},
      {"cucumber"}, {"beans", kMany},   {"peas", kMany}, {"cabbage"}, {"turnip"},
      {"pepper"},   {"spinach", kMass}, {"corn", kMass}, {"radish"},  {"mushroom"}};
  return kVegetables;
}

Nouns ingredients() {
  static constexpr Noun kIngredients[] = {{"sugar", kMass},    {"flour", kMass},   {"milk", kMass},
                                          {"butter", kMass},   {"honey", kMass},   {"eggs", kMany},
                                          {"salt", kMass},     {"nuts", kMany},    {"cream", kMass},
                                          {"cinnamon", kMass}, {"raisins", kMany}, {"yeast", kMass},
                                          {"vanilla", kMass},  {"cheese", kMass},  {"oil", kMass}};
  return kIngredients;
}

Nouns dishes() {
  static constexpr Noun kDishes[] = {{"apple pie"},  {"birthday cake"}, {"loaf of bread"},
                                     {"pizza"},      {"carrot cake"},   {"plum tart"},
                                     {"lemon cake"}, {"cheese bun"},    {"nut cake"},
                                     {"big cookie"}, {"berry muffin"},  {"sponge cake"}};
  return kDishes;
}

Nouns pets() {
  static constexpr Noun kPets[] = {{"dog"},    {"cat"},    {"rabbit"},   {"hamster"},
                                   {"parrot"}, {"turtle"}, {"goldfish"}, {"pony"},
                                   {"kitten"}, {"puppy"},  {"duckling"}, {"guinea pig"},
                                   {"canary"}, {"mouse"},  {"lizard"}};
  return kPets;
}

Nouns sports() {
  static constexpr Noun kSports[] = {
      {"swimming", kMass}, {"dancing", kMass},  {"singing", kMass}, {"running", kMass},
      {"skating", kMass},  {"painting", kMass}, {"fishing", kMass}, {"climbing", kMass},
      {"reading", kMass},  {"cooking", kMass},  {"hiking", kMass},  {"camping", kMass},
      {"sledding", kMass}, {"drawing", kMass},  {"sailing", kMass}, {"gardening", kMass}};
  return kSports;
}

Words colors() {
  static constexpr std::string_view kColors[] = {"red",   "blue",  "green",  "yellow",
                                                 "white", "black", "brown",  "purple",
                                                 "pink",  "gray",  "orange", "golden"};
  return kColors;
}

Words qualities() {
  static constexpr std::string_view kQualities[] = {
      "shiny",   "new",     "old",      "little",    "big",        "special", "beautiful",
      "strange", "lovely",  "tiny",     "pretty",    "colorful",   "magic",   "favorite",
      "striped", "round",   "smooth",   "sparkling", "wonderful",  "fancy",   "dusty",
      "ancient", "perfect", "precious", "unusual",   "glittering", "heavy",   "splendid"};
  return kQualities;
}

Places containers() {
  static constexpr PlaceRow kContainers[] = {{"bag", "in", "into"},    {"backpack", "in", "into"},
                                             {"basket", "in", "into"}, {"lunch box", "in", "into"},
                                             {"bucket", "in", "into"}, {"suitcase", "in", "into"},
                                             {"wagon", "in", "into"}};
  return kContainers;
}

}  // namespace tessera::task::stories
