// What a training costs; then the means of three columns, released three times with Gaussian noise for (epsilon, delta) = (1, 1e-6), and charged to a
// ledger. examples/c, examples/rust and examples/java do the same and print the same.
//
//	go run . means.db
package main

/*
#cgo pkg-config: surety
#include <stdlib.h>
#include <surety.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"
)

const (
	columns  = 3
	records  = 1000
	releases = 3
)

// check makes an error of a failure, which it frees.
func check(code C.surety_code, failure *C.surety_failure) error {
	if code == C.SURETY_OK {
		return nil
	}
	defer C.surety_failure_free(failure)
	return errors.New(C.GoString(C.surety_failure_message(failure)))
}

func run(path string) error {
	var failure *C.surety_failure

	// What a training costs: the truth lies between the ends.
	text := C.CString("repeat(1000, poisson(0.01, gaussian(1)))")
	defer C.free(unsafe.Pointer(text))
	var training *C.surety_event
	var epsilon C.surety_enclosure
	code := C.surety_event_parse(text, 40, C.SURETY_ADD_OR_REMOVE_ONE, &training, &failure)
	if err := check(code, failure); err != nil {
		return err
	}
	defer C.surety_event_free(training)
	code = C.surety_epsilon(training, 1e-5, 0, &epsilon, nil, &failure)
	if err := check(code, failure); err != nil {
		return err
	}
	fmt.Println("epsilon", float64(epsilon.lower), float64(epsilon.upper))

	// The least noise that keeps the promise.
	planned := C.CString("repeat(3, gaussian(z))")
	defer C.free(unsafe.Pointer(planned))
	unknown := C.CString("z")
	defer C.free(unsafe.Pointer(unknown))
	promise := C.surety_promise{epsilon: 1, delta: 1e-6}
	promise.size = C.sizeof_surety_promise
	solution := C.surety_solution{size: C.sizeof_surety_solution}
	var plan *C.surety_event
	code = C.surety_solve(planned, 22, unknown, 1, C.SURETY_ZERO_OUT, promise.epsilon, promise.delta, 0, &solution, &plan, &failure)
	if err := check(code, failure); err != nil {
		return err
	}
	defer C.surety_event_free(plan)
	fmt.Println("multiplier", float64(solution.value), float64(solution.epsilon.lower), float64(solution.epsilon.upper))

	// Each record is a vector of norm at most 1, so that one of them moves their sum by at most 1.
	options := C.surety_noise_options{size: C.sizeof_surety_noise_options, scale: solution.value, sensitivity: 1, dimension: columns,
		adjacency: C.SURETY_ZERO_OUT}
	var noise *C.surety_noise
	code = C.surety_gaussian_create(&options, &noise, &failure)
	if err := check(code, failure); err != nil {
		return err
	}
	defer C.surety_noise_free(noise)
	var release *C.surety_event
	code = C.surety_noise_event(noise, &release, &failure)
	if err := check(code, failure); err != nil {
		return err
	}
	defer C.surety_event_free(release)

	// The charge is on disk before the noise is drawn. Structs that hold pointers lie in C's memory.
	file := C.CString(path)
	defer C.free(unsafe.Pointer(file))
	patient := C.CString("patient")
	defer C.free(unsafe.Pointer(patient))
	unit := (*C.surety_unit)(C.malloc(C.sizeof_surety_unit))
	defer C.free(unsafe.Pointer(unit))
	*unit = C.surety_unit{size: C.sizeof_surety_unit, name: patient, most: 1}
	var ledger *C.surety_ledger
	code = C.surety_ledger_create(file, C.SURETY_ZERO_OUT, nil, unit, &ledger, &failure)
	if err := check(code, failure); err != nil {
		return err
	}
	defer C.surety_ledger_free(ledger)
	note := C.CString("means")
	defer C.free(unsafe.Pointer(note))
	var reservation *C.surety_reservation
	code = C.surety_ledger_reserve(ledger, plan, &promise, note, 5, &reservation, &failure)
	if err := check(code, failure); err != nil {
		return err
	}
	defer C.surety_reservation_free(reservation)
	for turn := 0; turn < releases; turn++ {
		var sums [columns]C.double
		for i := 0; i < records; i++ {
			sums[i%columns] += 0.5
		}
		code = C.surety_reservation_spend(reservation, release, &failure)
		if err := check(code, failure); err != nil {
			return err
		}
		code = C.surety_release_double(noise, &sums[0], columns, &failure)
		if err := check(code, failure); err != nil {
			return err
		}
		fmt.Printf("means %.4f %.4f %.4f\n", sums[0]/records, sums[1]/records, sums[2]/records)
	}
	code = C.surety_reservation_settle(reservation, 0, &failure)
	if err := check(code, failure); err != nil {
		return err
	}

	var audit *C.char
	code = C.surety_ledger_audit(ledger, 1e-6, &audit, nil, &failure)
	if err := check(code, failure); err != nil {
		return err
	}
	defer C.surety_free(audit)
	fmt.Println("audit", C.GoString(audit))
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: noisy_means LEDGER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "noisy_means:", err)
		os.Exit(1)
	}
}
