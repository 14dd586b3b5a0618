#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/task/babi/narrator.h"

namespace tessera::task {

/// How often the people of a household do what, relative to each other; what nobody can do at a
/// moment is left out of the draw.
struct Habits {
  double move = 1, get = 0, drop = 0, give = 0;
  double get_there = 1;  ///< chance that "there" follows "picked up the milk"
  double drop_there = 0.2;
};

/// People who move between rooms and carry objects, and what a reader of the story can know of
/// them. At the beginning everybody and everything is somewhere, untold.
class Household {
 public:
  Household(Narrator& narrator, Names people, Names rooms, Names objects, const Habits& habits);

  /// Somebody does something, and it is told.
  void act();

  /// Where a statement put somebody or something.
  struct Place {
    std::string_view room;
    int64_t line;  ///< of that statement
    bool operator==(const Place&) const = default;
  };
  struct Person {
    std::string_view name;
    std::string_view room;
    std::optional<Place> told;              ///< where the reader knows them to be
    std::vector<std::string_view> carries;  ///< in the order of getting them
    std::vector<int64_t> events;            ///< lines in which they got, gave or lost an object
  };
  struct Object {
    std::string_view name;
    std::string_view room;  ///< where it lies; that of its holder while it is carried
    std::optional<size_t> holder;
    int64_t last_event = 0;     ///< the line of the last get, drop or give; 0 for none
    std::optional<Place> told;  ///< where the reader knows it to be
    std::vector<Place> way;     ///< told places since it was last got, different in a row
  };
  struct Gift {
    std::string_view giver, object, receiver;
    int64_t line;
  };

  const std::vector<Person>& people() const { return people_; }
  const std::vector<Object>& objects() const { return objects_; }
  const std::vector<Gift>& gifts() const { return gifts_; }

 private:
  struct Deed {
    size_t person, object, receiver;
  };
  std::vector<Deed> possible_gets() const;
  std::vector<Deed> possible_drops() const;
  std::vector<Deed> possible_gifts() const;
  void move();
  void get(const Deed& deed);
  void drop(const Deed& deed);
  void give(const Deed& deed);
  /// The reader learns where the object is from where its holder is.
  void follow(Object& object, const std::optional<Place>& place);
  std::string there(double chance);

  Narrator& narrator_;
  Names rooms_;
  Habits habits_;
  std::vector<Person> people_;
  std::vector<Object> objects_;
  std::vector<Gift> gifts_;
};

}  // namespace tessera::task
