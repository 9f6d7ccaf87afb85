// What a training costs; then the means of three columns, released three times with Gaussian noise for (epsilon, delta) = (1, 1e-6), and charged to a
// ledger. examples/c, examples/go and examples/java do the same and print the same.
//
//   cargo run -- means.db
mod surety;

use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::ptr::{null, null_mut};
use surety::*;

const COLUMNS: usize = 3;
const RECORDS: usize = 1000;
const RELEASES: usize = 3;

/// A call that is given where its failure goes.
fn check(call: impl FnOnce(*mut *mut surety_failure) -> surety_code) -> Result<(), String> {
    let mut failure: *mut surety_failure = null_mut();
    if call(&mut failure) == SURETY_OK {
        return Ok(());
    }
    // The message lives as long as the failure.
    unsafe {
        let message = CStr::from_ptr(surety_failure_message(failure)).to_string_lossy().into_owned();
        surety_failure_free(failure);
        Err(message)
    }
}

fn run(path: &str) -> Result<(), String> {
    // What a training costs: the truth lies between the ends.
    let text = "repeat(1000, poisson(0.01, gaussian(1)))";
    let mut training: *mut surety_event = null_mut();
    let mut epsilon = surety_enclosure { lower: 0.0, upper: 0.0 };
    check(|failure| unsafe { surety_event_parse(text.as_ptr().cast(), text.len(), SURETY_ADD_OR_REMOVE_ONE, &mut training, failure) })?;
    check(|failure| unsafe { surety_epsilon(training, 1e-5, 0.0, &mut epsilon, null_mut(), failure) })?;
    println!("epsilon {} {}", epsilon.lower, epsilon.upper);

    // The least noise that keeps the promise.
    let text = "repeat(3, gaussian(z))";
    let promise = surety_promise {
        size: size_of::<surety_promise>(),
        epsilon: 1.0,
        delta: 1e-6,
    };
    let mut solution = surety_solution {
        size: size_of::<surety_solution>(),
        value: 0.0,
        failing: 0.0,
        epsilon,
        gap: 0.0,
    };
    let mut plan: *mut surety_event = null_mut();
    check(|failure| unsafe {
        surety_solve(
            text.as_ptr().cast(),
            text.len(),
            "z".as_ptr().cast(),
            1,
            SURETY_ZERO_OUT,
            promise.epsilon,
            promise.delta,
            0.0,
            &mut solution,
            &mut plan,
            failure,
        )
    })?;
    println!(
        "multiplier {} {} {}",
        solution.value, solution.epsilon.lower, solution.epsilon.upper
    );

    // Each record is a vector of norm at most 1, so that one of them moves their sum by at most 1.
    let options = surety_noise_options {
        size: size_of::<surety_noise_options>(),
        scale: solution.value,
        sensitivity: 1.0,
        dimension: COLUMNS,
        step: 0.0,
        adjacency: SURETY_ZERO_OUT,
        bits: null(),
    };
    let mut noise: *mut surety_noise = null_mut();
    let mut release: *mut surety_event = null_mut();
    check(|failure| unsafe { surety_gaussian_create(&options, &mut noise, failure) })?;
    check(|failure| unsafe { surety_noise_event(noise, &mut release, failure) })?;

    // The charge is on disk before the noise is drawn.
    let path = CString::new(path).map_err(|_| "the path has a zero in it".to_string())?;
    let patient = CString::new("patient").expect("no zero");
    let unit = surety_unit {
        size: size_of::<surety_unit>(),
        name: patient.as_ptr(),
        most: 1,
        each_without_name: 0,
    };
    let note = "means";
    let mut ledger: *mut surety_ledger = null_mut();
    let mut reservation: *mut surety_reservation = null_mut();
    check(|failure| unsafe { surety_ledger_create(path.as_ptr(), SURETY_ZERO_OUT, null(), &unit, &mut ledger, failure) })?;
    check(|failure| unsafe { surety_ledger_reserve(ledger, plan, &promise, note.as_ptr().cast(), note.len(), &mut reservation, failure) })?;
    for _ in 0..RELEASES {
        let mut sums = [0.0; COLUMNS];
        for i in 0..RECORDS {
            sums[i % COLUMNS] += 0.5;
        }
        check(|failure| unsafe { surety_reservation_spend(reservation, release, failure) })?;
        check(|failure| unsafe { surety_release_double(noise, sums.as_mut_ptr(), COLUMNS, failure) })?;
        let means = sums.map(|sum| sum / RECORDS as f64);
        println!("means {:.4} {:.4} {:.4}", means[0], means[1], means[2]);
    }
    check(|failure| unsafe { surety_reservation_settle(reservation, 0, failure) })?;

    let mut audit = null_mut();
    check(|failure| unsafe { surety_ledger_audit(ledger, 1e-6, &mut audit, null_mut(), failure) })?;
    unsafe {
        println!("audit {}", CStr::from_ptr(audit).to_string_lossy());
        surety_free(audit);
        surety_reservation_free(reservation);
        surety_ledger_free(ledger);
        surety_noise_free(noise);
        for event in [release, plan, training] {
            surety_event_free(event);
        }
    }
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 2 {
        eprintln!("usage: noisy_means LEDGER");
        std::process::exit(2);
    }
    if let Err(message) = run(&arguments[1]) {
        eprintln!("noisy_means: {message}");
        std::process::exit(1);
    }
}
