// surety_width FILE.csv FILE.svg: how the enclosure of the PLD accountant narrows as its grid step is halved.
// surety_width --check FILE.csv: makes the quickest points again and compares their enclosures with those of the file.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/answers/asked.h>

namespace surety::accounting {
namespace {

struct Point {
  double step;
  Enclosure epsilon;
  double milliseconds;
};

struct Curve {
  std::string name, colour;
  Event event;
  double delta;
  double first_step;
  std::vector<Point> points{};
};

Event sampled_gaussian() {
  const Event batch = poisson(SamplingRate{0.01}, gaussian(NoiseMultiplier{1}, Adjacency::add_or_remove_one));
  return repeat(Count{10'000}, batch);
}

Event laplace() { return repeat(Count{1000}, laplace(NoiseScale{10}, Adjacency::add_or_remove_one)); }

/// Halves the step until the accountant would need more memory than it may use, or much time, or the step would be below the least.
/// Hardly any mass is cut off (a width of 1e-8), so that what is seen is the grid's error and rounding.
void measure(Curve& curve, double least_step = 1e-7) {
  for (double step = curve.first_step; step > least_step; step /= 2) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      const Enclosure answer = epsilon(Pld{.width = 1e-8, .step = step}, curve.event, Delta{curve.delta});
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      curve.points.push_back({step, answer, took.count()});
      if (took.count() > 5000) return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::memory) throw;
      return;
    }
  }
}

std::string csv(const std::vector<Curve>& curves) {
  std::string out = "curve,delta,step,lower,upper,width,ratio_to_previous,milliseconds\n";
  for (const Curve& curve : curves) {
    double previous = 0;
    for (const Point& point : curve.points) {
      const double width = point.epsilon.width();
      const std::string ratio = previous > 0 ? fmt::format("{:.2f}", previous / width) : "";
      out += fmt::format("{},{:g},{:.6g},{:.12g},{:.12g},{:.3g},{},{:.1f}\n", curve.name, curve.delta, point.step, point.epsilon.lower,
                         point.epsilon.upper, width, ratio, point.milliseconds);
      previous = width;
    }
  }
  return out;
}

std::string svg(const std::vector<Curve>& curves) {
  // Logarithmic axes: decades of the step along, of the width upwards.
  constexpr double left = 80, right = 600, top = 50, bottom = 420;
  constexpr int first_x = -6, last_x = -2, first_y = -8, last_y = 0;
  const auto x = [](double log_step) { return left + (log_step - first_x) * (right - left) / (last_x - first_x); };
  const auto y = [](double log_width) { return bottom - (log_width - first_y) * (bottom - top) / (last_y - first_y); };

  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 480\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"640\" height=\"480\" fill=\"white\"/>\n"
      "<text x=\"80\" y=\"28\" font-size=\"15\">Width of the enclosure of epsilon against the grid step</text>\n";
  for (int decade = first_x; decade <= last_x; ++decade) {
    out += fmt::format("<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#ddd\"/><text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">1e{4}</text>\n",
                       x(decade), top, bottom, bottom + 20, decade);
  }
  for (int decade = first_y; decade <= last_y; ++decade) {
    out += fmt::format("<path d=\"M{1} {0:.1f}H{2}\" stroke=\"#ddd\"/><text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">1e{5}</text>\n",
                       y(decade), left, right, left - 8, y(decade) + 4, decade);
  }
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">grid step</text>\n", (left + right) / 2, bottom + 44);
  out += fmt::format("<text transform=\"translate(24 {}) rotate(-90)\" text-anchor=\"middle\">width</text>\n", (top + bottom) / 2);
  out += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#888\" stroke-dasharray=\"5 4\"/>\n", x(-6), y(-8), x(-2), y(0));
  double legend = top + 22;
  const auto label = [&](const std::string& colour, const std::string& text) {
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n", left + 12,
                       legend - 6, colour, left + 34, legend, text);
    legend += 20;
  };
  for (const Curve& curve : curves) {
    std::string path, dots;
    for (const Point& point : curve.points) {
      const double at_x = x(std::log10(point.step));
      const double at_y = y(std::log10(point.epsilon.width()));
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', at_x, at_y);
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>", at_x, at_y, curve.colour);
    }
    out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n{}\n", path, curve.colour, dots);
    label(curve.colour, fmt::format("{}, delta = {:g}", curve.name, curve.delta));
  }
  label("#888", "slope 2: half the step, a quarter of the width");
  return out + "</svg>\n";
}

std::vector<Curve> all_curves() {
  return {
      {"sampled Gaussian", "#0072b2", sampled_gaussian(), 1e-5, 0.004},
      {"sampled Gaussian", "#d55e00", sampled_gaussian(), 1e-100, 0.004},
      {"Laplace", "#009e73", laplace(), 1e-6, 0.004},
  };
}

int check(const char* csv_file) {
  std::map<std::string, std::pair<double, double>> kept;  // by curve, delta and step
  std::ifstream file{csv_file};
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells{line};
    std::string curve, delta, step, lower, upper;
    std::getline(cells, curve, ',');
    std::getline(cells, delta, ',');
    std::getline(cells, step, ',');
    std::getline(cells, lower, ',');
    std::getline(cells, upper, ',');
    kept[fmt::format("{},{},{}", curve, delta, step)] = {std::strtod(lower.c_str(), nullptr), std::strtod(upper.c_str(), nullptr)};
  }
  // The file has twelve digits, and another mathematical library may move the last of them.
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); };
  bool good = true;
  std::size_t compared = 0;
  std::vector<Curve> curves = all_curves();
  for (Curve& curve : curves) {
    measure(curve, 6e-4);
    for (const Point& point : curve.points) {
      const auto name = fmt::format("{},{:g},{:.6g}", curve.name, curve.delta, point.step);
      const auto found = kept.find(name);
      ++compared;
      if (found != kept.end() && near(point.epsilon.lower, found->second.first) && near(point.epsilon.upper, found->second.second))
        continue;
      good = false;
      fmt::print("{}: now [{:.12g}, {:.12g}], {}\n", name, point.epsilon.lower, point.epsilon.upper,
                 found == kept.end() ? "not kept" : fmt::format("kept as [{:.12g}, {:.12g}]", found->second.first, found->second.second));
    }
  }
  fmt::print("{}: {} points made again, {}\n", csv_file, compared,
             good ? "all as kept" : "not all as kept: make it again with scripts/benchmark accounting");
  return good && compared > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run(const char* csv_file, const char* svg_file) {
  std::vector<Curve> curves = all_curves();
  for (Curve& curve : curves) measure(curve);
  std::ofstream{csv_file} << csv(curves);
  std::ofstream{svg_file} << svg(curves);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace surety::accounting

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: surety_width FILE.csv FILE.svg, or surety_width --check FILE.csv\n");
    return 2;
  }
  if (std::string_view{argv[1]} == "--check") return surety::accounting::check(argv[2]);
  return surety::accounting::run(argv[1], argv[2]);
}
