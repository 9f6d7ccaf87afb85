// The functions of surety.h as Rust sees them: what they do is said there. A test holds these lines beside the header.
#![allow(non_camel_case_types, dead_code)]

use std::os::raw::{c_char, c_int, c_void};

pub type surety_code = i32;
pub type surety_adjacency = i32;
pub type surety_question = i32;
pub type surety_norm = i32;
pub type surety_called_off = Option<unsafe extern "C" fn(*mut c_void) -> c_int>;
pub type surety_fill = Option<unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> c_int>;
pub type surety_progress = Option<unsafe extern "C" fn(*mut c_void, *const c_char, u64, u64)>;
pub type surety_draw = Option<unsafe extern "C" fn(*mut c_void) -> f64>;
pub type surety_prediction = Option<unsafe extern "C" fn(*mut c_void, *const f64, usize) -> c_int>;

pub const SURETY_OK: surety_code = 0;
pub const SURETY_ADD_OR_REMOVE_ONE: surety_adjacency = 0;
pub const SURETY_REPLACE_ONE: surety_adjacency = 1;
pub const SURETY_ZERO_OUT: surety_adjacency = 2;

#[repr(C)]
pub struct surety_failure {
    _private: [u8; 0],
}

#[repr(C)]
pub struct surety_event {
    _private: [u8; 0],
}

#[repr(C)]
pub struct surety_noise {
    _private: [u8; 0],
}

#[repr(C)]
pub struct surety_ledger {
    _private: [u8; 0],
}

#[repr(C)]
pub struct surety_reservation {
    _private: [u8; 0],
}

#[repr(C)]
pub struct surety_job {
    _private: [u8; 0],
}

#[repr(C)]
pub struct surety_result {
    _private: [u8; 0],
}

#[repr(C)]
pub struct surety_model {
    _private: [u8; 0],
}

// Of the Arrow C stream interface, as any crate of Arrow declares it.
#[repr(C)]
pub struct ArrowArrayStream {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_enclosure {
    pub lower: f64,
    pub upper: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_risk {
    pub size: usize,
    pub prior: f64,
    pub false_positive_rate: f64,
    pub advantage: surety_enclosure,
    pub true_positive_rate: surety_enclosure,
    pub accuracy: surety_enclosure,
    pub mu: surety_enclosure,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_time_contrast {
    pub first_draws: u64,
    pub second_draws: u64,
    pub first_trimmed: u64,
    pub second_trimmed: u64,
    pub first_mean: f64,
    pub second_mean: f64,
    pub t: f64,
    pub trimmed_z: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_timing {
    pub size: usize,
    pub seconds: f64,
    pub most_draws: u64,
    pub draws: u64,
    pub trimmed: u64,
    pub mean: f64,
    pub correlation: f64,
    pub tail: surety_time_contrast,
    pub magnitude: surety_time_contrast,
    pub zero: surety_time_contrast,
    pub sign: surety_time_contrast,
    pub verdict: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_solution {
    pub size: usize,
    pub value: f64,
    pub failing: f64,
    pub epsilon: surety_enclosure,
    pub gap: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_bits {
    pub size: usize,
    pub fill: surety_fill,
    pub context: *mut c_void,
    pub vouched_for: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_noise_options {
    pub size: usize,
    pub scale: f64,
    pub sensitivity: f64,
    pub dimension: usize,
    pub step: f64,
    pub adjacency: surety_adjacency,
    pub bits: *const surety_bits,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_budget {
    pub size: usize,
    pub epsilon: f64,
    pub delta: f64,
    pub filter: *const c_char,
    pub order: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_unit {
    pub size: usize,
    pub name: *const c_char,
    pub most: u64,
    pub each_without_name: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_promise {
    pub size: usize,
    pub epsilon: f64,
    pub delta: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct surety_run_options {
    pub size: usize,
    pub bits: *const surety_bits,
    pub progress: surety_progress,
    pub should_stop: surety_called_off,
    pub context: *mut c_void,
}

extern "C" {
    pub fn surety_failure_message(failure: *const surety_failure) -> *const c_char;
    pub fn surety_failure_code(failure: *const surety_failure) -> surety_code;
    pub fn surety_failure_free(failure: *mut surety_failure);
    pub fn surety_abi_version() -> c_int;
    pub fn surety_version() -> *const c_char;
    pub fn surety_free(text: *mut c_char);
    pub fn surety_event_parse(
        text: *const c_char,
        length: usize,
        adjacency: surety_adjacency,
        event: *mut *mut surety_event,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_event_parse_json(
        text: *const c_char,
        length: usize,
        event: *mut *mut surety_event,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_event_free(event: *mut surety_event);
    pub fn surety_event_adjacency(event: *const surety_event) -> surety_adjacency;
    pub fn surety_event_text(
        event: *const surety_event,
        text: *mut *mut c_char,
        length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_event_json(
        event: *const surety_event,
        text: *mut *mut c_char,
        length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_use_memory_reserve(failure: *mut *mut surety_failure) -> surety_code;
    pub fn surety_limit_questions(
        seconds: f64,
        is_called_off: surety_called_off,
        context: *mut c_void,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_epsilon(
        event: *const surety_event,
        delta: f64,
        width: f64,
        epsilon: *mut surety_enclosure,
        accountant: *mut *const c_char,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_delta(
        event: *const surety_event,
        epsilon: f64,
        width: f64,
        delta: *mut surety_enclosure,
        accountant: *mut *const c_char,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_event_explain(
        event: *const surety_event,
        question: surety_question,
        at: f64,
        width: f64,
        json: *mut *mut c_char,
        length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_curve(
        event: *const surety_event,
        epsilons: *const f64,
        count: usize,
        width: f64,
        deltas: *mut surety_enclosure,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_tradeoff(
        event: *const surety_event,
        false_positive_rates: *const f64,
        count: usize,
        width: f64,
        false_negative_rates: *mut surety_enclosure,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_event_risk(
        event: *const surety_event,
        width: f64,
        risk: *mut surety_risk,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_solve(
        event: *const c_char,
        length: usize,
        name: *const c_char,
        name_length: usize,
        adjacency: surety_adjacency,
        epsilon: f64,
        delta: f64,
        width: f64,
        solution: *mut surety_solution,
        solved: *mut *mut surety_event,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_gaussian_create(
        options: *const surety_noise_options,
        noise: *mut *mut surety_noise,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_laplace_create(
        options: *const surety_noise_options,
        noise: *mut *mut surety_noise,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_k_norm_create(
        options: *const surety_noise_options,
        norm: surety_norm,
        noise: *mut *mut surety_noise,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_generalized_gaussian_create(
        options: *const surety_noise_options,
        r: f64,
        noise: *mut *mut surety_noise,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_discrete_gaussian_create(
        options: *const surety_noise_options,
        noise: *mut *mut surety_noise,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_discrete_laplace_create(
        options: *const surety_noise_options,
        noise: *mut *mut surety_noise,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_truncated_geometric_create(
        options: *const surety_noise_options,
        lowest: i64,
        highest: i64,
        noise: *mut *mut surety_noise,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_binomial_create(
        options: *const surety_noise_options,
        flips: u64,
        noise: *mut *mut surety_noise,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_skellam_create(
        options: *const surety_noise_options,
        mean: f64,
        noise: *mut *mut surety_noise,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_noise_free(noise: *mut surety_noise);
    pub fn surety_noise_event(noise: *const surety_noise, event: *mut *mut surety_event, failure: *mut *mut surety_failure) -> surety_code;
    pub fn surety_noise_step(noise: *const surety_noise) -> f64;
    pub fn surety_release_double(
        noise: *mut surety_noise,
        values: *mut f64,
        count: usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_release_float(noise: *mut surety_noise, values: *mut f32, count: usize, failure: *mut *mut surety_failure)
        -> surety_code;
    pub fn surety_release_int64(noise: *mut surety_noise, values: *mut i64, count: usize, failure: *mut *mut surety_failure)
        -> surety_code;
    pub fn surety_release_sum_double(
        noise: *mut surety_noise,
        rows: *const f64,
        count: usize,
        columns: usize,
        clip: f64,
        sum: *mut f64,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_release_sum_float(
        noise: *mut surety_noise,
        rows: *const f32,
        count: usize,
        columns: usize,
        clip: f64,
        sum: *mut f64,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_release_sum_int64(
        noise: *mut surety_noise,
        rows: *const i64,
        count: usize,
        columns: usize,
        clip: f64,
        sum: *mut i64,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_check_timing(
        draw: surety_draw,
        context: *mut c_void,
        timing: *mut surety_timing,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_noise_check_timing(
        noise: *mut surety_noise,
        timing: *mut surety_timing,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_ledger_create(
        path: *const c_char,
        adjacency: surety_adjacency,
        budget: *const surety_budget,
        unit: *const surety_unit,
        ledger: *mut *mut surety_ledger,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_ledger_open(path: *const c_char, ledger: *mut *mut surety_ledger, failure: *mut *mut surety_failure) -> surety_code;
    pub fn surety_ledger_free(ledger: *mut surety_ledger);
    pub fn surety_ledger_reserve(
        ledger: *mut surety_ledger,
        event: *const surety_event,
        promise: *const surety_promise,
        note: *const c_char,
        note_length: usize,
        reservation: *mut *mut surety_reservation,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_ledger_settle(
        ledger: *mut surety_ledger,
        run: u64,
        released: *const surety_event,
        adaptive: c_int,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_ledger_audit(
        ledger: *mut surety_ledger,
        delta: f64,
        json: *mut *mut c_char,
        length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_reservation_spend(
        reservation: *mut surety_reservation,
        event: *const surety_event,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_reservation_release_double(
        reservation: *mut surety_reservation,
        noise: *mut surety_noise,
        values: *mut f64,
        count: usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_reservation_release_float(
        reservation: *mut surety_reservation,
        noise: *mut surety_noise,
        values: *mut f32,
        count: usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_reservation_release_int64(
        reservation: *mut surety_reservation,
        noise: *mut surety_noise,
        values: *mut i64,
        count: usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_reservation_release_sum_double(
        reservation: *mut surety_reservation,
        noise: *mut surety_noise,
        rows: *const f64,
        count: usize,
        columns: usize,
        clip: f64,
        sum: *mut f64,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_reservation_release_sum_float(
        reservation: *mut surety_reservation,
        noise: *mut surety_noise,
        rows: *const f32,
        count: usize,
        columns: usize,
        clip: f64,
        sum: *mut f64,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_reservation_release_sum_int64(
        reservation: *mut surety_reservation,
        noise: *mut surety_noise,
        rows: *const i64,
        count: usize,
        columns: usize,
        clip: f64,
        sum: *mut i64,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_reservation_settle(
        reservation: *mut surety_reservation,
        adaptive: c_int,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_reservation_run(reservation: *const surety_reservation) -> u64;
    pub fn surety_reservation_free(reservation: *mut surety_reservation);
    pub fn surety_job_prepare(
        json: *const c_char,
        length: usize,
        job: *mut *mut surety_job,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_job_free(job: *mut surety_job);
    pub fn surety_job_event(
        job: *const surety_job,
        event: *mut *mut surety_event,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_job_noise(job: *const surety_job) -> f64;
    pub fn surety_job_cost(
        job: *const surety_job,
        epsilon: *mut surety_enclosure,
        delta: *mut f64,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_job_json(
        job: *const surety_job,
        json: *mut *mut c_char,
        length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_job_run(
        job: *mut surety_job,
        path: *const c_char,
        ledger: *mut surety_ledger,
        options: *const surety_run_options,
        result: *mut *mut surety_result,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_job_run_arrow(
        job: *mut surety_job,
        records: *mut ArrowArrayStream,
        ledger: *mut surety_ledger,
        options: *const surety_run_options,
        result: *mut *mut surety_result,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_result_free(result: *mut surety_result);
    pub fn surety_result_json(
        result: *const surety_result,
        json: *mut *mut c_char,
        length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_result_arrow(
        result: *const surety_result,
        stream: *mut ArrowArrayStream,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_result_model(
        result: *const surety_result,
        model: *mut *mut surety_model,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_parts_begin(
        json: *const c_char,
        json_length: usize,
        parts: u32,
        ledger: *mut surety_ledger,
        options: *const surety_run_options,
        ticket: *mut *mut c_char,
        ticket_length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_parts_partial(
        ticket: *const c_char,
        ticket_length: usize,
        part: u32,
        path: *const c_char,
        partial: *mut *mut c_char,
        partial_length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_parts_partial_arrow(
        ticket: *const c_char,
        ticket_length: usize,
        part: u32,
        records: *mut ArrowArrayStream,
        partial: *mut *mut c_char,
        partial_length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_parts_merge(
        a: *const c_char,
        a_length: usize,
        b: *const c_char,
        b_length: usize,
        merged: *mut *mut c_char,
        merged_length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_parts_finish(
        ticket: *const c_char,
        ticket_length: usize,
        partial: *const c_char,
        partial_length: usize,
        ledger: *mut surety_ledger,
        options: *const surety_run_options,
        result: *mut *mut surety_result,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_write_private_file(
        path: *const c_char,
        bytes: *const c_char,
        length: usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_model_load(
        path: *const c_char,
        model: *mut *mut surety_model,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_model_parse(
        text: *const c_char,
        length: usize,
        model: *mut *mut surety_model,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_model_free(model: *mut surety_model);
    pub fn surety_model_save(
        model: *const surety_model,
        path: *const c_char,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_model_json(
        model: *const surety_model,
        json: *mut *mut c_char,
        length: *mut usize,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_model_predict(
        model: *const surety_model,
        path: *const c_char,
        say: surety_prediction,
        context: *mut c_void,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
    pub fn surety_model_predict_arrow(
        model: *const surety_model,
        records: *mut ArrowArrayStream,
        say: surety_prediction,
        context: *mut c_void,
        failure: *mut *mut surety_failure,
    ) -> surety_code;
}
