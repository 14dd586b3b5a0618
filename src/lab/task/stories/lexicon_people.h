#pragma once

#include <span>
#include <string_view>

/// Who is in a story, and what they are like.
namespace tessera::task::stories {

using Words = std::span<const std::string_view>;

inline constexpr std::string_view kGirls[] = {
    "Lily",  "Anna",  "Mia",   "Sara",  "Lucy",   "Emma",  "Ella",    "Amy",   "Sue",   "Mary",
    "Jane",  "Alice", "Molly", "Zoe",   "Rosie",  "Clara", "Nina",    "Ruby",  "Grace", "Kate",
    "Eva",   "Lola",  "Daisy", "Sally", "Tina",   "Maya",  "Julia",   "Hana",  "Leah",  "Nora",
    "Olga",  "Penny", "Rita",  "Tess",  "Violet", "Wendy", "Yara",    "Ivy",   "Hazel", "Fiona",
    "Elsa",  "Dora",  "Carla", "Betty", "Aisha",  "Paula", "Sofia",   "Laura", "Mina",  "Priya",
    "Greta", "Heidi", "Irene", "Judy",  "Keiko",  "Linda", "Matilda", "Nadia", "Polly", "Stella"};

inline constexpr std::string_view kBoys[] = {
    "Tom",    "Ben",   "Jack",  "Max",   "Tim",   "Sam",    "Leo",   "Jim",    "Bob",    "Billy",
    "Adam",   "Peter", "Paul",  "David", "Danny", "Eddie",  "Finn",  "George", "Henry",  "Ivan",
    "Jake",   "Karl",  "Luke",  "Mark",  "Nick",  "Oscar",  "Pedro", "Ryan",   "Simon",  "Toby",
    "Victor", "Will",  "Zack",  "Alex",  "Bruno", "Caleb",  "Dylan", "Eli",    "Felix",  "Greg",
    "Hugo",   "Ian",   "Jonas", "Kevin", "Liam",  "Mateo",  "Noah",  "Omar",   "Philip", "Robin",
    "Steve",  "Theo",  "Amir",  "Kenji", "Ravi",  "Walter", "Anton", "Dario",  "Emil",   "Frank"};

inline constexpr std::string_view kAnimalNames[] = {
    "Hoppy",  "Fluffy", "Whiskers", "Spot", "Buddy",   "Sparky", "Bella",   "Coco",   "Daffy",
    "Ginger", "Honey",  "Jolly",    "Kiki", "Lulu",    "Mimi",   "Nibbles", "Olly",   "Pip",
    "Quincy", "Rusty",  "Scout",    "Tiny", "Waddles", "Ziggy",  "Bouncy",  "Chirpy", "Dusty",
    "Fuzzy",  "Goldie", "Hazelnut", "Inky", "Jumper",  "Mossy",  "Peanut",  "Ruffy",  "Snowy"};

/// "brave".
inline constexpr std::string_view kTraits[] = {
    "brave",       "kind",        "curious",    "shy",       "clever",    "cheerful",
    "gentle",      "friendly",    "helpful",    "lively",    "quiet",     "playful",
    "patient",     "polite",      "funny",      "careful",   "honest",    "smart",
    "sweet",       "silly",       "thoughtful", "generous",  "energetic", "stubborn",
    "dreamy",      "noisy",       "tidy",       "messy",     "bold",      "busy",
    "creative",    "daring",      "eager",      "fearless",  "calm",      "merry",
    "nice",        "obedient",    "modest",     "restless",  "serious",   "talkative",
    "wise",        "impatient",   "loyal",      "forgetful", "hopeful",   "independent",
    "inventive",   "joyful",      "lucky",      "proud",     "bright",    "clumsy",
    "caring",      "adventurous", "bossy",      "grumpy",    "jealous",   "lonely",
    "mischievous", "nervous",     "sensible",   "timid",     "witty",     "warmhearted",
    "charming",    "cautious",    "determined", "graceful"};

inline constexpr std::string_view kGladFeelings[] = {
    "happy",   "glad",     "proud",    "excited", "delighted", "thankful", "cheerful",
    "pleased", "grateful", "thrilled", "joyful",  "relieved",  "amazed",   "overjoyed"};

inline constexpr std::string_view kSadFeelings[] = {
    "sad",     "upset",     "unhappy",      "worried",   "gloomy",     "miserable",
    "anxious", "sorrowful", "disappointed", "desperate", "heartbroken"};

/// What one loves to: "sing", the first word being the verb.
inline constexpr std::string_view kHobbies[] = {"sing songs",
                                                "dance",
                                                "paint pictures",
                                                "climb trees",
                                                "read books",
                                                "ride a bike",
                                                "build towers",
                                                "collect leaves",
                                                "swim in the lake",
                                                "draw animals",
                                                "tell jokes",
                                                "run races",
                                                "jump in puddles",
                                                "catch bugs",
                                                "skip stones",
                                                "count the stars",
                                                "bake muffins",
                                                "fly kites",
                                                "dig holes",
                                                "explore the woods",
                                                "listen to stories",
                                                "watch the clouds",
                                                "whistle tunes",
                                                "hum in the bath",
                                                "juggle lemons",
                                                "knit scarves",
                                                "fold paper boats",
                                                "fish in the stream",
                                                "plant seeds",
                                                "feed the ducks",
                                                "chase butterflies",
                                                "pick berries",
                                                "solve puzzles",
                                                "invent games",
                                                "write letters",
                                                "make necklaces",
                                                "play the drum",
                                                "kick a ball",
                                                "throw snowballs",
                                                "roll down hills",
                                                "slide on the ice",
                                                "hide in the closet",
                                                "laugh at clowns",
                                                "clap to the music",
                                                "act like a pirate",
                                                "pretend to be a queen",
                                                "study maps",
                                                "polish shells",
                                                "gather acorns",
                                                "sail little boats",
                                                "splash in the water",
                                                "balance on logs",
                                                "bounce on the bed",
                                                "cook soup",
                                                "cuddle the cat",
                                                "dream of the sea",
                                                "hike in the hills",
                                                "imagine castles",
                                                "learn new words",
                                                "march like a soldier",
                                                "model with clay",
                                                "nap in the sun",
                                                "observe the ants",
                                                "peel oranges",
                                                "race with the wind",
                                                "repair old toys",
                                                "rhyme words",
                                                "row a boat",
                                                "sew tiny dresses",
                                                "skate",
                                                "sketch houses",
                                                "stack blocks",
                                                "stare at the moon",
                                                "swing in the garden",
                                                "tickle people",
                                                "trade cards",
                                                "travel by train",
                                                "visit the museum",
                                                "wander in the fields",
                                                "water the flowers",
                                                "wave at trains",
                                                "wear funny hats",
                                                "wrestle with the dog",
                                                "yodel",
                                                "spin in circles",
                                                "print stamps",
                                                "measure things",
                                                "mix colors"};

/// "baker".
inline constexpr std::string_view kGrownUps[] = {
    "old man",   "old woman", "baker",    "farmer",   "teacher",    "gardener",
    "mailman",   "fisherman", "neighbor", "doctor",   "shopkeeper", "librarian",
    "carpenter", "painter",   "sailor",   "musician", "policeman",  "firefighter"};

/// "be kind to others".
inline constexpr std::string_view kVirtues[] = {"be kind to others",
                                                "share with friends",
                                                "tell the truth",
                                                "keep trying",
                                                "help those who need it",
                                                "listen to others",
                                                "take care of old things",
                                                "say thank you",
                                                "be patient",
                                                "work together",
                                                "keep a promise",
                                                "be gentle with animals",
                                                "try new things",
                                                "ask for help",
                                                "forgive a friend",
                                                "think before you act",
                                                "be brave and honest",
                                                "enjoy the little things"};

/// What somebody is, and what they do at work.
struct Job {
  std::string_view who, work;  ///< "baker", "bakes bread"
};

inline constexpr Job kJobs[] = {{"baker", "bakes bread"},
                                {"farmer", "grows food"},
                                {"teacher", "teaches children"},
                                {"doctor", "helps sick people"},
                                {"firefighter", "puts out fires"},
                                {"pilot", "flies planes"},
                                {"sailor", "sails ships"},
                                {"painter", "paints walls"},
                                {"tailor", "sews clothes"},
                                {"dentist", "cleans teeth"},
                                {"gardener", "waters plants"},
                                {"librarian", "lends books"},
                                {"fisherman", "catches fish"},
                                {"barber", "cuts hair"},
                                {"shepherd", "guards sheep"},
                                {"carpenter", "builds tables"},
                                {"astronaut", "travels to space"},
                                {"plumber", "fixes pipes"},
                                {"cook", "makes soup"},
                                {"mailman", "brings letters"}};

}  // namespace tessera::task::stories
