// A fixed piece of work for the compiler, of standard headers alone: tests/budget.txt keeps the seconds of a leg as multiples of it. Never edited.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

template <int N>
std::string words(const std::string& text) {
  std::map<std::string, std::vector<int>> places;
  std::unordered_map<int, std::function<int(int)>> rules;
  const std::regex word{"[a-z]+" + std::to_string(N)};
  for (std::sregex_iterator found{text.begin(), text.end(), word}, end; found != end; ++found) {
    places[found->str()].push_back(static_cast<int>(found->position()) + N);
    rules.emplace(N, [n = found->position()](int x) { return x + static_cast<int>(n); });
  }
  std::string longest;
  for (auto& [key, list] : places) {
    std::sort(list.begin(), list.end(), [&](int a, int b) { return rules[N](a) > rules[N](b); });
    if (key.size() > longest.size()) longest = key;
  }
  return longest;
}

int main() {
  std::mt19937 random{1};
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(' ' + random() % 90);
  std::cout << words<1>(text) << words<2>(text) << words<3>(text) << words<4>(text) << words<5>(text) << words<6>(text) << '\n';
}
