// Loops that are built twice, for any processor and for one with vectors of four doubles; the processor chooses. No operation is fused or
// reordered, so both give the same bits.
#pragma once

// Where that is known to work: the sanitizers start before such choices are made.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__has_attribute) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#if __has_attribute(target_clones)
#define SURETY_VECTORIZED __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef SURETY_VECTORIZED
#define SURETY_VECTORIZED
#endif
