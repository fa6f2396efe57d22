//! What this compiler made of `header.rs`, for `layout_check.c`, which holds it against the header itself.

use std::ffi::{c_char, c_uint};
use std::mem::{offset_of, size_of};

use crate::database::Store;
use crate::driver::{Constant, Handle};
use crate::header::*;

/// A name as C writes it, and its size, offset or value. The list ends with a NULL name.
#[repr(C)]
pub struct Place {
    name: *const c_char,
    number: usize,
}

const fn place(name: *const c_char, number: usize) -> Place {
    Place { name, number }
}

macro_rules! places {
    ($($kind:ty, $c:literal: $($field:ident $(as $c_field:literal)?),*;)*) => {
        [$(
            place(concat!("sizeof ", $c, "\0").as_ptr().cast(), size_of::<$kind>()),
            $(place(places!(@name $c, $field $(as $c_field)?).as_ptr().cast(), offset_of!($kind, $field)),)*
        )*
        place(c"ASSAY_OK".as_ptr(), Status::Ok as usize),
        place(c"ASSAY_MISS".as_ptr(), Status::Miss as usize),
        place(c"ASSAY_CONFLICT".as_ptr(), Status::Conflict as usize),
        place(c"ASSAY_ERROR".as_ptr(), Status::Error as usize),
        place(c"ASSAY_REFUSED".as_ptr(), Status::Refused as usize),
        place(c"ASSAY_D0".as_ptr(), D0 as usize),
        place(c"ASSAY_D3".as_ptr(), D3 as usize),
        place(c"sizeof enum assay_status".as_ptr(), size_of::<Status>()),
        place(c"sizeof enum assay_durability".as_ptr(), size_of::<c_uint>()),
        place(std::ptr::null(), 0)]
    };
    (@name $c:literal, $field:ident) => { concat!($c, ".", stringify!($field), "\0") };
    (@name $c:literal, $field:ident as $c_field:literal) => { concat!($c, ".", $c_field, "\0") };
}

type RedbDriver = Driver<Store, Handle>;

// SAFETY: no other part of the program defines this name.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // a name of C's
pub static assay_redb_layout: Constant<[Place; 87]> = Constant(places! {
    Bytes, "assay_bytes": data, length;
    Buffer, "assay_buffer": ;
    ErrorText, "assay_error": ;
    DurabilityClaim, "assay_durability_claim": class as "class_", how;
    OptionClaim, "assay_option": name, kind as "type", default_value, help, choices, tune;
    Description, "assay_description": name, summary, library, licence, kind, durability, options, handles_shareable, key_text,
        key_numbers, batch_atomic, write_conflicts, server_sets_class, token_indexes, eventual, handles_max, key_bytes_min, key_bytes_max, value_bytes_max,
        value_bytes_option, batch_max, batch_bytes_max, fixed_disk_bytes, note;
    Config, "assay_config": directory, endpoints, durability, loss_window_ns, threads, handles, first, options;
    Write, "assay_write": key, value, remove;
    RedbDriver, "assay_driver": description, version, open, settings, close, handle_open, handle_close, get, put, remove, batch,
        scan, add, compare_and_swap, define, query, count, modify, increment, delete_query, explain, sync, inspect;
});
