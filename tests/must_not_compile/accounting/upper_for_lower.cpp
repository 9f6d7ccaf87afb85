// error: conversion from .*Lower.* to non-scalar type .*Upper
// A lower bound is no upper one.
#include <surety/base/numbers/bound.h>

const surety::Upper bound = surety::Lower{1} + 1;
