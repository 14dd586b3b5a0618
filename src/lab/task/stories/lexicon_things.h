#pragma once

#include <span>
#include <string_view>

#include "lab/task/stories/world.h"

/// What people have, want, lose and eat.
namespace tessera::task::stories {

inline constexpr Number kMany = Number::kMany, kMass = Number::kMass;

struct Noun {
  std::string_view word;
  Number number = Number::kOne;
};
using Nouns = std::span<const Noun>;

inline constexpr Noun kToys[] = {
    {"ball"},         {"doll"},      {"kite"},       {"toy car"},      {"teddy bear"},
    {"robot"},        {"drum"},      {"toy train"},  {"puppet"},       {"top"},
    {"yo-yo"},        {"toy boat"},  {"balloon"},    {"toy truck"},    {"jump rope"},
    {"scooter"},      {"wagon"},     {"whistle"},    {"toy plane"},    {"puzzle"},
    {"storybook"},    {"hoop"},      {"toy horse"},  {"frisbee"},      {"rattle"},
    {"toy rocket"},   {"marble"},    {"toy sword"},  {"crayon box"},   {"toy castle"},
    {"toy dinosaur"}, {"trumpet"},   {"tambourine"}, {"toy bus"},      {"rag doll"},
    {"sled"},         {"toy crown"}, {"guitar"},     {"toy elephant"}, {"music box"}};

inline constexpr Noun kTreasures[] = {
    {"shell"},    {"coin"},    {"key"},    {"feather"}, {"stone"},    {"button"}, {"pearl"},
    {"ring"},     {"medal"},   {"map"},    {"bottle"},  {"necklace"}, {"pebble"}, {"crystal"},
    {"bracelet"}, {"lantern"}, {"mirror"}, {"ribbon"},  {"acorn"},    {"spoon"},  {"watch"},
    {"bell"},     {"compass"}, {"locket"}, {"gem"}};

inline constexpr Noun kGifts[] = {{"scarf"},
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

inline constexpr Noun kSweets[] = {{"cake"},
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

inline constexpr Noun kFruits[] = {{"apple"},
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

inline constexpr Noun kVegetables[] = {
    {"carrot"},   {"potato"},         {"tomato"},      {"onion"},   {"pumpkin"},
    {"cucumber"}, {"beans", kMany},   {"peas", kMany}, {"cabbage"}, {"turnip"},
    {"pepper"},   {"spinach", kMass}, {"corn", kMass}, {"radish"},  {"mushroom"}};

/// "sugar".
inline constexpr Noun kIngredients[] = {{"sugar", kMass},    {"flour", kMass},   {"milk", kMass},
                                        {"butter", kMass},   {"honey", kMass},   {"eggs", kMany},
                                        {"salt", kMass},     {"nuts", kMany},    {"cream", kMass},
                                        {"cinnamon", kMass}, {"raisins", kMany}, {"yeast", kMass},
                                        {"vanilla", kMass},  {"cheese", kMass},  {"oil", kMass}};

/// What one bakes or cooks.
inline constexpr Noun kDishes[] = {{"apple pie"},  {"birthday cake"}, {"loaf of bread"},
                                   {"pizza"},      {"carrot cake"},   {"plum tart"},
                                   {"lemon cake"}, {"cheese bun"},    {"nut cake"},
                                   {"big cookie"}, {"berry muffin"},  {"sponge cake"}};

inline constexpr Noun kPets[] = {{"dog"},      {"cat"},        {"rabbit"}, {"hamster"}, {"parrot"},
                                 {"turtle"},   {"goldfish"},   {"pony"},   {"kitten"},  {"puppy"},
                                 {"duckling"}, {"guinea pig"}, {"canary"}, {"mouse"},   {"lizard"}};

/// What one learns, in the form "swimming".
inline constexpr Noun kSports[] = {
    {"swimming", kMass}, {"dancing", kMass},  {"singing", kMass}, {"running", kMass},
    {"skating", kMass},  {"painting", kMass}, {"fishing", kMass}, {"climbing", kMass},
    {"reading", kMass},  {"cooking", kMass},  {"hiking", kMass},  {"camping", kMass},
    {"sledding", kMass}, {"drawing", kMass},  {"sailing", kMass}, {"gardening", kMass}};

inline constexpr std::string_view kColors[] = {"red",   "blue",  "green",  "yellow",
                                               "white", "black", "brown",  "purple",
                                               "pink",  "gray",  "orange", "golden"};

/// Of things: "shiny".
inline constexpr std::string_view kQualities[] = {
    "shiny",   "new",     "old",      "little",    "big",        "special", "beautiful",
    "strange", "lovely",  "tiny",     "pretty",    "colorful",   "magic",   "favorite",
    "striped", "round",   "smooth",   "sparkling", "wonderful",  "fancy",   "dusty",
    "ancient", "perfect", "precious", "unusual",   "glittering", "heavy",   "splendid"};

struct PlaceRow {
  std::string_view noun, at, to;
  bool outdoors = true;
};
using Places = std::span<const PlaceRow>;
/// What one carries things in.
inline constexpr PlaceRow kContainers[] = {{"bag", "in", "into"},    {"backpack", "in", "into"},
                                           {"basket", "in", "into"}, {"lunch box", "in", "into"},
                                           {"bucket", "in", "into"}, {"suitcase", "in", "into"},
                                           {"wagon", "in", "into"}};

}  // namespace tessera::task::stories
