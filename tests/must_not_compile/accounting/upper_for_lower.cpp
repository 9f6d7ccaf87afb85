// error: conversion from .*Lower.* to non-scalar type .*Upper
// A lower bound is no upper one.
#include <surety/base/numbers/bound.h>

const surety::accounting::Upper bound = surety::accounting::Lower{1} + 1;
