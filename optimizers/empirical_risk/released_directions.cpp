#include <surety/optimizers/empirical_risk/released_directions.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

namespace surety::optimizers::detail {

Matrix free_directions(std::size_t features, const std::vector<std::vector<double>>& relations) {
  const auto d = static_cast<Eigen::Index>(features);
  const auto bound = static_cast<Eigen::Index>(relations.size());
  Matrix all(d, bound);
  for (Eigen::Index k = 0; k < bound; ++k) {
    all.col(k) = Eigen::Map<const Eigen::VectorXd>{relations[static_cast<std::size_t>(k)].data(), d};
  }
  const Matrix basis = Eigen::HouseholderQR<Matrix>{all}.householderQ();
  return basis.rightCols(d - bound);
}

ReleasedDirections::ReleasedDirections(std::size_t features, const std::vector<double>& matrix,
                                       const std::vector<std::vector<double>>& relations) {
  const auto d = static_cast<Eigen::Index>(features);
  const Eigen::Map<const Matrix> all{matrix.data(), d + 1, d + 1};
  if (relations.empty()) {
    decompose(all.topLeftCorner(d, d));
  } else {
    const Matrix basis = free_directions(features, relations);
    const Matrix within = basis.transpose() * all.topLeftCorner(d, d) * basis;
    decompose((within + within.transpose()) / 2);
    vectors = basis * vectors;
  }
  along = vectors.transpose() * all.col(d).head(d);
}

void ReleasedDirections::decompose(const Matrix& matrix) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver{matrix};
  eigenvalues = solver.eigenvalues();
  vectors = solver.eigenvectors();
}

}  // namespace surety::optimizers::detail
