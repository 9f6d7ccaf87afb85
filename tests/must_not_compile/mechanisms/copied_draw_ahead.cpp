// error: (use of deleted function|call to implicitly-deleted copy constructor).*DrawAhead
// A copy of drawn samples would hand out the same noise twice.
#include <surety/mechanisms/samplers/draw_ahead.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

using Noise = surety::mechanisms::DrawAhead<surety::mechanisms::DiscreteGaussianNoise>;

Noise moved(Noise noise) { return noise; }
Noise copied(const Noise& noise) { return noise; }
