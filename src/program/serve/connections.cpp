#include "program/serve/connections.h"

#include <utility>

namespace tessera::serve {

bool Connections::close_one() {
  return close_first(Waiting::kToLeave) || close_first(Waiting::kForRequest) ||
         close_first(Waiting::kForItsRest);
}

void Connections::close_all() {
  while (close_one()) {
  }
}

bool Connections::close_first(Waiting waiting) {
  if (list(waiting).empty()) return false;
  Place& first = *list(waiting).front();
  first.works();  // closed once only
  first.close_();
  return true;
}

Connections::Place::Place(Connections& all, std::function<void()> close)
    : all_(all), close_(std::move(close)) {
  ++all_.count_;
}

Connections::Place::~Place() {
  works();
  --all_.count_;
}

void Connections::Place::works() {
  if (list_) list_->erase(own_);
  list_ = nullptr;
  all_.held_bytes_ -= std::exchange(held_bytes_, 0);
}

void Connections::Place::waits(Waiting waiting) {
  works();
  list_ = &all_.list(waiting);
  own_ = list_->insert(list_->end(), this);
}

void Connections::Place::holds(size_t bytes) {
  all_.held_bytes_ += bytes - held_bytes_;
  held_bytes_ = bytes;
  while (all_.held_bytes_ > all_.arriving_bytes_ && all_.close_first(Waiting::kForItsRest)) {
  }
}

}  // namespace tessera::serve
