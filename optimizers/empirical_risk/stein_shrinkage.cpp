#include <surety/optimizers/empirical_risk/stein_shrinkage.h>

#include <limits>
#include <utility>

#include <Eigen/Eigenvalues>

namespace surety::optimizers {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

// Up to 1.15 times the size of the noise, from the default ridge on: of much larger ones an estimate of few features is not certain enough.
constexpr double next_ridge = 1.5;
constexpr int ridges = 10;
// With curves an eigenvalue decomposition is computed for every third ridge.
constexpr int ridges_between_decompositions = 3;
// P times the mean of the eigenvalues of C (H + R I)^-1 C^T: from where curves are hardly changed to where hardly anything is left of them.
constexpr double least_penalty = 1.0 / 16;
constexpr double next_penalty = 4;
constexpr int penalties = 8;

Eigen::Index size_of(const std::vector<double>& numbers) { return static_cast<Eigen::Index>(numbers.size()); }
Vector vector_of(const std::vector<double>& numbers) { return Eigen::Map<const Vector>{numbers.data(), size_of(numbers)}; }

/// The tried candidate with the smallest estimated risk.
class Candidates {
 public:
  Candidates(std::span<const double> coordinates, const SteinTerms& terms)
      : u_{Eigen::Map<const Matrix>{coordinates.data(), size_of(terms.curvature),
                                    static_cast<Eigen::Index>(coordinates.size()) / size_of(terms.curvature)}},
        h_{vector_of(terms.curvature)},
        noise_{vector_of(terms.curvature).array() * vector_of(terms.variance).array() / vector_of(terms.reach).array()},
        unbiased_{vector_of(terms.reach).cwiseInverse().asDiagonal() * u_},
        ridge_{terms.ridge} {}

  void try_ridge(double ridge) {
    const Vector factors = (h_.array() + ridge_) / (h_.array() + ridge);
    take(factors.asDiagonal() * u_, noise_.dot(factors));
  }

  /// \param curves C
  void try_penalties(double ridge, const Matrix& curves) {
    // With M = H + R I and M^(-1/2) C^T C M^(-1/2) = Q diag(e) Q^T the inverse is M^(-1/2) Q diag(1 / (1 + P e)) Q^T M^(-1/2).
    const Vector root = (h_.array() + ridge).rsqrt();
    const Matrix scaled = curves * root.asDiagonal();
    const Eigen::SelfAdjointEigenSolver<Matrix> solver{scaled.transpose() * scaled};
    const Vector eigenvalues = solver.eigenvalues().cwiseMax(0);
    const Matrix& basis = solver.eigenvectors();
    const Vector gain = (h_.array() + ridge_) * root.array();
    const Matrix rotated = basis.transpose() * (gain.asDiagonal() * u_);
    const Matrix back = root.asDiagonal() * basis;
    const Vector rotated_noise = basis.cwiseAbs2().transpose() * Vector{noise_.array() * gain.array() * root.array()};
    double penalty = least_penalty * static_cast<double>(curves.rows()) / eigenvalues.sum();
    for (int k = 0; k < penalties; ++k, penalty *= next_penalty) {
      const Vector kept = (1 + penalty * eigenvalues.array()).inverse();
      take(back * (kept.asDiagonal() * rotated), rotated_noise.dot(kept));
    }
  }

  [[nodiscard]] const Matrix& best() const { return best_; }

 private:
  void take(Matrix candidate, double noise) {
    const double moved = (h_.asDiagonal() * (candidate - unbiased_).cwiseAbs2()).sum();
    const double risk = moved + 2 * static_cast<double>(u_.cols()) * noise;
    if (!(risk < least_risk_)) return;
    least_risk_ = risk;
    best_ = std::move(candidate);
  }

  Matrix u_;  // d x K
  Vector h_;
  Vector noise_;
  Matrix unbiased_;
  double ridge_;
  double least_risk_ = std::numeric_limits<double>::infinity();
  Matrix best_ = u_;
};

}  // namespace

std::vector<double> shrunk_by_stein(std::span<const double> coordinates, const SteinTerms& terms) {
  Candidates candidates{coordinates, terms};
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Index features = size_of(terms.curvature);
  const Matrix curves = Eigen::Map<const Rows>{terms.curves.data(), size_of(terms.curves) / features, features};
  double ridge = terms.ridge;
  for (int k = 0; k < ridges; ++k, ridge *= next_ridge) {
    candidates.try_ridge(ridge);
    if (curves.rows() > 0 && k % ridges_between_decompositions == 0) candidates.try_penalties(ridge, curves);
  }
  const Matrix& best = candidates.best();
  return {best.data(), best.data() + best.size()};
}

}  // namespace surety::optimizers
