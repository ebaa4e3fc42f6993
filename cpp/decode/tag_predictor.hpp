// Which tag comes next: writers log the same tags in the same order.
#pragma once

namespace tbq {

// What followed a tag the last time is the guess for the next. A Tag has `Tag* next`, which is this class's
// alone; it is null, or the tag itself, until another one has followed.
template <class Tag>
class TagPredictor {
 public:
  // Null if there is none.
  Tag* guess() const { return guess_; }

  // The one that came last; null if there is none.
  Tag* last() const { return previous_; }

  void follow(Tag* tag) {
    if (tag != guess_) correct(tag);
    advance(tag);
  }
  // The two halves of it, for who knows whether the guess was right.
  void correct(Tag* tag) {
    if (previous_) previous_->next = tag;
  }
  void advance(Tag* tag) {
    previous_ = tag;
    guess_ = tag->next;
  }

 private:
  Tag* guess_ = nullptr;  // previous_->next
  Tag* previous_ = nullptr;
};

}  // namespace tbq
