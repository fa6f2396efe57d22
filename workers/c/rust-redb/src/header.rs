//! `assay_driver.h`, as far as this driver needs it. `layout.rs` and `layout_check.c` hold the two against each other.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// What the driver returns. What the host hands in as an enumeration is a `c_uint`: a Rust enumeration with a value that it does not
/// list would be undefined behaviour.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum Status {
    Ok = 0,
    Miss = 1,
    Conflict = 2,
    Error = 4,
    Refused = 5,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    pub data: *const c_void,
    pub length: usize,
}

/// The host's own; the driver only passes it on.
#[repr(C)]
pub struct Buffer {
    _data: *mut u8,
    _capacity: usize,
}

pub const ERROR_TEXT_BYTES: usize = 237;

#[repr(C)]
pub struct ErrorText {
    _text: [c_char; ERROR_TEXT_BYTES],
}

pub const D0: c_uint = 0;
pub const D3: c_uint = 3;

#[repr(C)]
pub struct DurabilityClaim {
    pub class: c_uint,
    pub how: *const c_char,
}

#[repr(C)]
pub struct OptionClaim {
    pub name: *const c_char,
    pub kind: *const c_char,
    pub default_value: *const c_char,
    pub help: *const c_char,
    pub choices: *const c_char,
    pub tune: *const c_char,
}

#[repr(C)]
pub struct Description {
    pub name: *const c_char,
    pub summary: *const c_char,
    pub library: *const c_char,
    pub licence: *const c_char,
    pub kind: *const c_char,
    pub durability: *const DurabilityClaim,
    pub options: *const OptionClaim,
    pub handles_shareable: bool,
    pub key_text: bool,
    pub key_numbers: bool,
    pub batch_atomic: bool,
    pub write_conflicts: bool,
    pub server_sets_class: bool,
    pub token_indexes: bool,
    pub eventual: bool,
    pub handles_max: u64,
    pub key_bytes_min: u64,
    pub key_bytes_max: u64,
    pub value_bytes_max: u64,
    pub value_bytes_option: *const c_char,
    pub batch_max: u64,
    pub batch_bytes_max: u64,
    pub fixed_disk_bytes: u64,
    pub note: *const c_char,
}

#[repr(C)]
pub struct Config {
    pub directory: *const c_char,
    pub endpoints: *const *const c_char,
    pub durability: c_uint,
    pub loss_window_ns: i64,
    pub threads: c_int,
    pub handles: c_int,
    pub first: bool,
    pub options: *const Options,
}

#[repr(C)]
pub struct Write {
    pub key: Bytes,
    pub value: Bytes,
    pub remove: bool,
}

pub type Visit = unsafe extern "C" fn(*mut c_void, Bytes, Bytes) -> bool;

/// The host's types that are only pointed to.
#[repr(C)]
pub struct Options {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct Sink {
    _opaque: [u8; 0],
}

/// `struct assay_driver`, with the driver's own store `S` and handle `H`. `None` is NULL.
#[repr(C)]
pub struct Driver<S, H> {
    pub description: *const Description,
    pub version: Option<unsafe extern "C" fn() -> *const c_char>,
    pub open: unsafe extern "C" fn(*const Config, *mut *mut S, *mut ErrorText) -> Status,
    pub settings: unsafe extern "C" fn(*mut S, *mut Sink),
    pub close: unsafe extern "C" fn(*mut S, *mut ErrorText) -> Status,
    pub handle_open: unsafe extern "C" fn(*mut S, *mut *mut H, *mut ErrorText) -> Status,
    pub handle_close: unsafe extern "C" fn(*mut H, *mut ErrorText) -> Status,
    pub get: unsafe extern "C" fn(*mut H, Bytes, *mut Buffer, *mut Bytes, *mut ErrorText) -> Status,
    pub put: unsafe extern "C" fn(*mut H, Bytes, Bytes, *mut ErrorText) -> Status,
    pub remove: unsafe extern "C" fn(*mut H, Bytes, *mut ErrorText) -> Status,
    pub batch: Option<unsafe extern "C" fn(*mut H, *const Write, usize, *mut ErrorText) -> Status>,
    #[allow(clippy::type_complexity)] // the header's own signature
    pub scan: Option<
        unsafe extern "C" fn(*mut H, Bytes, usize, Visit, *mut c_void, *mut ErrorText) -> Status,
    >,
    pub add: Option<unsafe extern "C" fn(*mut H, Bytes, Bytes, *mut ErrorText) -> Status>,
    pub compare_and_swap:
        Option<unsafe extern "C" fn(*mut H, Bytes, Bytes, Bytes, *mut ErrorText) -> Status>,
    /// Records with columns: redb has none, so these three stay `None` and need no signature.
    pub define: Option<unsafe extern "C" fn()>,
    pub query: Option<unsafe extern "C" fn()>,
    pub count: Option<unsafe extern "C" fn()>,
    pub modify: Option<unsafe extern "C" fn()>,
    pub increment: Option<unsafe extern "C" fn()>,
    pub delete_query: Option<unsafe extern "C" fn()>,
    pub explain: Option<unsafe extern "C" fn()>,
    pub sync: Option<unsafe extern "C" fn(*mut S, *mut ErrorText) -> Status>,
    pub inspect: Option<unsafe extern "C" fn(*mut S, *mut Sink, *mut bool)>,
}

unsafe extern "C" {
    pub fn assay_fail(error: *mut ErrorText, format: *const c_char, ...) -> c_uint;
    pub fn assay_refuse(error: *mut ErrorText, format: *const c_char, ...) -> c_uint;
    pub fn assay_copy(
        buffer: *mut Buffer,
        data: *const c_void,
        length: usize,
        value: *mut Bytes,
        error: *mut ErrorText,
    ) -> c_uint;
    pub fn assay_option_bytes(options: *const Options, name: *const c_char) -> i64;
    pub fn assay_setting(sink: *mut Sink, name: *const c_char, format: *const c_char, ...);
    pub fn assay_stat(sink: *mut Sink, name: *const c_char, value: f64);
    pub fn assay_sync_directory(directory: *const c_char, error: *mut ErrorText) -> c_uint;
}
