#pragma once

#include <string_view>

#include "lab/task/stories/lexicon_things.h"

/// Where stories happen, what is seen there, and what is true of the world.
namespace tessera::task::stories {

/// Where children go.
inline constexpr PlaceRow kOutings[] = {{"park", "in", "to"},
                                        {"forest", "in", "into"},
                                        {"beach", "at", "to"},
                                        {"playground", "at", "to"},
                                        {"garden", "in", "into"},
                                        {"farm", "at", "to"},
                                        {"lake", "at", "to"},
                                        {"river", "at", "to"},
                                        {"market", "at", "to", false},
                                        {"library", "in", "to", false},
                                        {"zoo", "at", "to"},
                                        {"meadow", "in", "to"},
                                        {"hill", "on", "up"},
                                        {"museum", "in", "to", false},
                                        {"village square", "in", "to"},
                                        {"old castle", "at", "to"},
                                        {"harbor", "at", "to", false},
                                        {"pond", "at", "to"},
                                        {"orchard", "in", "to"},
                                        {"train station", "at", "to", false},
                                        {"fair", "at", "to", false},
                                        {"swimming pool", "at", "to", false},
                                        {"toy store", "in", "to", false},
                                        {"bakery", "at", "to", false},
                                        {"campsite", "at", "to"},
                                        {"valley", "in", "into"},
                                        {"circus", "at", "to", false}};

/// "under the bed".
inline constexpr PlaceRow kIndoorSpots[] = {{"bed", "under", "under"},
                                            {"sofa", "behind", "behind"},
                                            {"table", "under", "under"},
                                            {"closet", "in", "into"},
                                            {"drawer", "in", "into"},
                                            {"curtain", "behind", "behind"},
                                            {"shelf", "on", "onto"},
                                            {"chair", "under", "under"},
                                            {"cupboard", "in", "into"},
                                            {"piano", "behind", "behind"},
                                            {"carpet", "under", "under"},
                                            {"wooden box", "in", "into"},
                                            {"laundry basket", "in", "into"},
                                            {"staircase", "under", "under"},
                                            {"door", "behind", "behind"},
                                            {"bathtub", "in", "into"},
                                            {"kitchen sink", "under", "under"},
                                            {"stove", "behind", "behind"}};

inline constexpr PlaceRow kOutdoorSpots[] = {{"bench", "under", "under"},
                                             {"big tree", "behind", "behind"},
                                             {"bush", "in", "into"},
                                             {"rock", "behind", "behind"},
                                             {"hedge", "behind", "behind"},
                                             {"hollow log", "in", "into"},
                                             {"wall", "behind", "behind"},
                                             {"tall grass", "in", "into"},
                                             {"fence", "behind", "behind"},
                                             {"sign", "behind", "behind"},
                                             {"pile of leaves", "in", "into"},
                                             {"tree stump", "behind", "behind"},
                                             {"old cart", "under", "under"},
                                             {"picnic blanket", "under", "under"},
                                             {"wooden steps", "under", "under"},
                                             {"flower bed", "in", "into"}};

/// What somebody sees on their way: "a squirrel", "eating a nut".
struct Sight {
  std::string_view noun, doing;
};

inline constexpr Sight kSights[] = {{"squirrel", "eating a nut"},
                                    {"butterfly", "resting on a daisy"},
                                    {"snail", "crawling over a leaf"},
                                    {"mailman", "carrying a parcel"},
                                    {"bee", "buzzing around a rose"},
                                    {"rainbow", "shining above the roofs"},
                                    {"spider", "spinning a web"},
                                    {"woodpecker", "knocking on a trunk"},
                                    {"frog", "sitting on a lily pad"},
                                    {"fire engine", "rushing down the street"},
                                    {"caterpillar", "chewing a leaf"},
                                    {"ladybug", "walking along a twig"},
                                    {"tractor", "driving through the mud"},
                                    {"helicopter", "circling in the sky"},
                                    {"worm", "wriggling in the soil"},
                                    {"beetle", "climbing up a stem"},
                                    {"hedgehog", "hurrying across the path"},
                                    {"seagull", "gliding over the waves"},
                                    {"peacock", "spreading its tail"},
                                    {"swan", "floating on the water"},
                                    {"grasshopper", "hopping through the clover"},
                                    {"dragonfly", "hovering above the reeds"},
                                    {"truck", "delivering boxes"},
                                    {"bicycle", "leaning against a lamppost"},
                                    {"fountain", "splashing in the sunshine"},
                                    {"windmill", "turning in the breeze"},
                                    {"cloud", "drifting past the chimney"},
                                    {"crow", "stealing a crumb"},
                                    {"clown", "riding a unicycle"},
                                    {"juggler", "tossing torches"},
                                    {"crab", "walking sideways"},
                                    {"dolphin", "leaping out of the water"},
                                    {"mole", "peeking out of its tunnel"},
                                    {"goat", "nibbling a thistle"},
                                    {"lamb", "following its mother"},
                                    {"goose", "hissing at a cyclist"},
                                    {"stork", "standing on one leg"},
                                    {"eagle", "soaring above the mountain"},
                                    {"bat", "sleeping upside down"},
                                    {"deer", "drinking from a brook"},
                                    {"badger", "digging in the dirt"},
                                    {"owl", "blinking from a branch"},
                                    {"kangaroo", "wearing a bow tie"},
                                    {"snowman", "missing its nose"},
                                    {"scarecrow", "guarding the wheat"},
                                    {"painter", "mixing purple and silver"},
                                    {"violinist", "tuning a violin"},
                                    {"jogger", "tying a shoelace"},
                                    {"nurse", "waiting for the bus"},
                                    {"knight", "posing for a photograph"},
                                    {"robin", "building its nest"},
                                    {"otter", "cracking a mussel"},
                                    {"lizard", "basking on a brick"},
                                    {"mushroom", "growing beside a stump"},
                                    {"sunflower", "bending toward the light"},
                                    {"dandelion", "losing its fluff"},
                                    {"shadow", "stretching across the lawn"},
                                    {"poodle", "pulling its leash"},
                                    {"pigeon", "pecking at bread crumbs"},
                                    {"beaver", "dragging a stick"},
                                    {"magician", "practicing a trick"},
                                    {"tram", "ringing its bell"},
                                    {"airplane", "leaving a white trail"},
                                    {"puddle", "reflecting the sky"},
                                    {"ferry", "crossing the bay"},
                                    {"lighthouse", "flashing in the distance"},
                                    {"dog", "wagging its tail"},
                                    {"pony", "swishing its mane"},
                                    {"rooster", "strutting across the yard"},
                                    {"chimney sweep", "balancing on a roof"},
                                    {"chicken", "scratching the ground"},
                                    {"ant", "lifting a seed"},
                                    {"kitten", "playing with yarn"},
                                    {"twin", "whispering to her brother"},
                                    {"street sweeper", "collecting litter"},
                                    {"tourist", "unfolding a map"},
                                    {"wizard", "searching for his wand"},
                                    {"dragon", "puffing pink smoke"},
                                    {"fairy", "sprinkling glitter"},
                                    {"penguin", "slipping on a fish"},
                                    {"camel", "yawning loudly"},
                                    {"zebra", "counting its stripes"},
                                    {"hippo", "brushing its teeth"},
                                    {"octopus", "waving all its arms"}};

struct Animal {
  std::string_view one, many;
  std::string_view eats, diet;  ///< "grass"; animals of another diet do not eat it
  std::string_view says, home;  ///< "moo"; "on a farm"
  std::string_view region;      ///< animals of another region do not live there
  bool flies, swims;
};

inline constexpr Animal kAnimals[] = {
    {"cow", "cows", "grass", "plants", "moo", "on a farm", "farm", false, false},
    {"horse", "horses", "hay", "plants", "neigh", "in a stable", "farm", false, false},
    {"sheep", "sheep", "grass", "plants", "baa", "in a meadow", "farm", false, false},
    {"dog", "dogs", "bones", "meat", "woof", "in a doghouse", "house", false, true},
    {"cat", "cats", "mice", "meat", "meow", "in a house", "house", false, false},
    {"bird", "birds", "worms", "insects", "tweet", "in a nest", "tree", true, false},
    {"duck", "ducks", "water plants", "plants", "quack", "at a pond", "water", true, true},
    {"owl", "owls", "mice", "meat", "hoo", "in a hollow tree", "tree", true, false},
    {"frog", "frogs", "flies", "insects", "ribbit", "in a pond", "water", false, true},
    {"bee", "bees", "nectar", "flowers", "buzz", "in a hive", "tree", true, false},
    {"squirrel", "squirrels", "nuts", "nuts", "", "in a tree", "tree", false, false},
    {"rabbit", "rabbits", "clover", "plants", "", "in a burrow", "ground", false, false},
    {"monkey", "monkeys", "bananas", "fruit", "", "in the jungle", "tree", false, false},
    {"lion", "lions", "meat", "meat", "roar", "on the savanna", "savanna", false, false},
    {"fish", "fish", "algae", "plants", "", "in the water", "water", false, true},
    {"elephant", "elephants", "leaves", "plants", "", "on the savanna", "savanna", false, true},
    {"bear", "bears", "honey", "honey", "growl", "in a cave", "ground", false, true},
    {"spider", "spiders", "flies", "insects", "", "in a web", "tree", false, false},
    {"penguin", "penguins", "fish", "fish", "", "on the ice", "water", false, true},
    {"seal", "seals", "fish", "fish", "", "by the sea", "water", false, true},
    {"pig", "pigs", "acorns", "nuts", "oink", "in a sty", "farm", false, false},
    {"chicken", "chickens", "seeds", "seeds", "cluck", "in a coop", "farm", false, false},
    {"snake", "snakes", "mice", "meat", "hiss", "in a hole", "ground", false, false},
    {"parrot", "parrots", "seeds", "seeds", "", "in the jungle", "tree", true, false},
    {"whale", "whales", "tiny shrimp", "fish", "", "in the ocean", "water", false, true},
    {"giraffe", "giraffes", "leaves", "plants", "", "on the savanna", "savanna", false, false}};

/// "It was raining." asks for "an umbrella".
struct Weather {
  std::string_view sign, need, kind;  ///< needs of one kind fit the same weather
};

inline constexpr Weather kWeathers[] = {
    {"It was raining hard", "take your umbrella", "rain"},
    {"It was raining and the street was full of puddles", "wear your rubber boots", "rain"},
    {"Dark clouds hung over the town and it began to rain", "put on your raincoat", "rain"},
    {"It was winter and very cold outside", "wear your warm coat", "cold"},
    {"Snow covered the whole garden", "put on your mittens", "cold"},
    {"A freezing wind blew around the house", "wrap a scarf around your neck", "cold"},
    {"It was a hot summer day", "wear your sun hat", "hot"},
    {"The sun was burning in the sky", "use some sunscreen", "hot"},
    {"It was the hottest day of the year", "drink a lot of cold water", "hot"}};

/// "tired" sends to "to bed".
struct Need {
  std::string_view feeling, because, deed;
};

inline constexpr Need kNeeds[] = {
    {"tired", "had been awake since early morning", "went to bed"},
    {"thirsty", "had been running for hours", "drank a glass of water"},
    {"hungry", "had not eaten since breakfast", "ate a big sandwich"},
    {"dirty", "had been rolling in the mud", "took a hot bath"},
    {"cold", "had no warm coat, and the wind was icy", "sat down by the warm fire"},
    {"wet", "had fallen into a puddle", "dried off with a towel"},
    {"bored", "had nothing to do", "looked for a game to play"},
    {"sick", "had a fever and a sore throat", "saw the doctor"},
    {"scared", "had heard thunder", "asked for a hug"},
    {"hot", "had been wearing a thick sweater all day", "opened the window"}};

/// "An apple seed" grows into "an apple tree".
struct Seed {
  std::string_view seed, plant;
};

inline constexpr Seed kSeeds[] = {{"an apple seed", "an apple tree"},
                                  {"a pumpkin seed", "a pumpkin vine"},
                                  {"a sunflower seed", "a tall sunflower"},
                                  {"an acorn", "an oak tree"},
                                  {"a bean", "a bean stalk"},
                                  {"a tulip bulb", "a red tulip"},
                                  {"a cherry stone", "a cherry tree"},
                                  {"a carrot seed", "a sweet carrot"},
                                  {"a chestnut", "a chestnut tree"},
                                  {"a tomato seed", "a tomato plant"}};

struct Lore {
  std::string_view question, answer, wrong1, wrong2;
};

inline constexpr Lore kLore[] = {
    {"What color is the sky", "The sky is blue", "The sky is green", "The sky is brown"},
    {"What color is grass", "Grass is green", "Grass is red", "Grass is blue"},
    {"What color is snow", "Snow is white", "Snow is black", "Snow is yellow"},
    {"When do the stars come out", "They come out at night", "They come out at noon",
     "They come out at breakfast"},
    {"What happens if I throw a ball up in the air", "It will come down again",
     "It will stay up forever", "It will turn into a bird"},
    {"What happens to ice in the sun", "It melts into water", "It turns into stone",
     "It grows into a tree"},
    {"How many legs does a spider have", "A spider has eight legs", "A spider has two legs",
     "A spider has four legs"},
    {"How many legs does a dog have", "A dog has four legs", "A dog has two legs",
     "A dog has eight legs"},
    {"Why does the moon change its shape", "The sun lights only a part of it",
     "A mouse eats a part of it", "It gets washed in the rain"},
    {"Where does rain come from", "It falls from the clouds", "It falls from the trees",
     "It falls from the roofs"},
    {"Where does milk come from", "It comes from cows", "It comes from trees",
     "It comes from the sea"},
    {"Where do eggs come from", "They come from chickens", "They come from horses",
     "They come from clouds"},
    {"What language do they speak in France", "They speak French in France",
     "They speak Spanish in France", "They speak Chinese in France"},
    {"What season comes after winter", "After winter comes spring", "After winter comes summer",
     "After winter comes fall"},
    {"What does a rainbow have", "A rainbow has many colors", "A rainbow has many legs",
     "A rainbow has many doors"},
    {"What do we need to see in the dark", "We need a lamp", "We need a spoon", "We need a sock"},
    {"What do we use to cut paper", "We use scissors", "We use pillows", "We use butter"},
    {"Why do birds have wings", "They have wings to fly", "They have wings to read",
     "They have wings to cook"}};

}  // namespace tessera::task::stories
