#include <surety/jobs/report/document.h>

namespace surety::jobs {

Line Line::foreign(std::string text) {
  Line line;
  line.pieces_.push_back({std::move(text), true});
  return line;
}

Line& Line::operator+=(const Line& other) {
  pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
  return *this;
}

}  // namespace surety::jobs
