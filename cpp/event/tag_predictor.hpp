// Predicts the next tag: writers log the same tags in the same order.
#pragma once

namespace tbq {

// Guesses the tag that followed the current tag last time. A Tag has a member `Tag* next` that only this
// class uses; it is null, or the tag itself, until another tag has followed.
template <class Tag>
class TagPredictor {
 public:
  // Null if there is no guess.
  Tag* guess() const { return guess_; }

  // The tag that came last; null if there is none.
  Tag* last() const { return previous_; }

  void follow(Tag* tag) {
    if (tag != guess_) correct(tag);
    advance(tag);
  }
  // The two halves of it, for callers that already know whether the guess was right.
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
