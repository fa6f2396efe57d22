//! The table of functions that the host calls. All `unsafe` of this driver is here and in `layout.rs`.
//!
//! What the header promises, and every `unsafe` block below relies on: pointers are valid for the call; a store or handle is one that
//! `open` or `handle_open` gave and that is not closed yet; a store outlives its handles.

use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;
use std::sync::OnceLock;

use redb::{Durability, Error};

use crate::database::{self, Outcome, Store};
use crate::header::*;

/// Nothing of redb's is kept between operations, so a handle is the store itself.
pub struct Handle {
    store: *const Store,
}

/// Pointers to constants: nobody writes them.
#[repr(transparent)]
pub struct Constant<T>(pub T);
// SAFETY: it is made below of constants alone, which are never written to, and so may be read by
// many threads.
unsafe impl<T> Sync for Constant<T> {}

static DURABILITY: Constant<[DurabilityClaim; 3]> = Constant([
    DurabilityClaim {
        class: D0,
        how: c"Durability::None: a commit stays in redb's own buffer until one with Durability::Immediate follows, or close".as_ptr(),
    },
    DurabilityClaim {
        class: D3,
        how: c"Durability::Immediate, the default: pages and header are written, then fdatasync, before commit returns".as_ptr(),
    },
    DurabilityClaim { class: 0, how: null() },
]);

const CACHE_BYTES: &CStr = c"cache_bytes";

static OPTIONS: Constant<[OptionClaim; 2]> = Constant([
    OptionClaim {
        name: CACHE_BYTES.as_ptr(),
        kind: c"bytes".as_ptr(),
        default_value: c"1GiB".as_ptr(),
        help: c"Builder::set_cache_size: memory for pages, read and written".as_ptr(),
        choices: null(),
        tune: c"log 16MiB 1GiB".as_ptr(),
    },
    OptionClaim {
        name: null(),
        kind: null(),
        default_value: null(),
        help: null(),
        choices: null(),
        tune: null(),
    },
]);

static DESCRIPTION: Constant<Description> = Constant(Description {
    name: c"redb".as_ptr(),
    summary: c"copy-on-write B+tree in one file, in Rust, one writer".as_ptr(),
    library: c"redb".as_ptr(),
    licence: c"MIT OR Apache-2.0".as_ptr(),
    kind: c"embedded".as_ptr(),
    durability: DURABILITY.0.as_ptr(),
    options: OPTIONS.0.as_ptr(),
    handles_shareable: true, // a Database is Sync
    key_text: false,
    key_numbers: false,
    batch_atomic: true,
    write_conflicts: false, // one writer at a time
    server_sets_class: false,
    token_indexes: false,
    eventual: false,
    handles_max: 0,
    key_bytes_min: 0,
    key_bytes_max: 3 << 30, // MAX_VALUE_LENGTH, which holds for keys too
    value_bytes_max: 3 << 30,
    value_bytes_option: null(),
    batch_max: 0,
    batch_bytes_max: 0,
    fixed_disk_bytes: 60 << 10,
    note: c"each operation is a transaction of its own and opens the table in it, reads too: LMDB's driver renews a reader instead; one writer at a time".as_ptr(),
});

type RedbDriver = Driver<Store, Handle>;

static DRIVER: Constant<RedbDriver> = Constant(Driver {
    description: &DESCRIPTION.0,
    version: Some(version),
    open,
    settings,
    close,
    handle_open,
    handle_close,
    get,
    put,
    remove,
    batch: Some(batch),
    scan: Some(scan),
    add: Some(add),
    compare_and_swap: Some(compare_and_swap),
    define: None,
    query: None,
    count: None,
    modify: None,
    increment: None,
    delete_query: None,
    explain: None,
    sync: Some(sync),
    inspect: Some(inspect),
});

// SAFETY: no other part of the program defines this name; the host declares it and leaves it to the
// driver.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)] // the header's name
pub static assay_drivers: Constant<[*const RedbDriver; 2]> = Constant([&DRIVER.0, null()]);

/// redb tells no version when it runs; the exact one that was linked is the pin in Cargo.toml.
unsafe extern "C" fn version() -> *const c_char {
    static VERSION: OnceLock<CString> = OnceLock::new();
    VERSION
        .get_or_init(|| {
            let (_, pin) = include_str!("../Cargo.toml")
                .split_once("redb = \"=")
                .expect("Cargo.toml pins redb");
            CString::new(pin.split('"').next().unwrap_or_default()).expect("no zero in a version")
        })
        .as_ptr()
}

/// Writes the error's text.
fn failed(error: &Error, text: *mut ErrorText) -> Status {
    let words = CString::new(database::words(error)).unwrap_or_default();
    // SAFETY: text is the host's, for this call; the format takes one string, which lives until the
    // call is over.
    unsafe { assay_fail(text, c"%s".as_ptr(), words.as_ptr()) };
    Status::Error
}

fn ended(result: Result<Outcome, Error>, text: *mut ErrorText) -> Status {
    match result {
        Ok(Outcome::Done) => Status::Ok,
        Ok(Outcome::Miss) => Status::Miss,
        Ok(Outcome::Conflict) => Status::Conflict,
        Err(error) => failed(&error, text),
    }
}

/// # Safety
/// The bytes must stay valid for as long as the caller uses what is returned.
unsafe fn slice<'a>(bytes: Bytes) -> &'a [u8] {
    if bytes.length == 0 {
        return &[]; // data may be NULL then, which a slice may not
    }
    // SAFETY: the host's `length` bytes at `data`, which nobody writes to during the call.
    unsafe { std::slice::from_raw_parts(bytes.data.cast(), bytes.length) }
}

fn bytes_of(slice: &[u8]) -> Bytes {
    Bytes {
        data: slice.as_ptr().cast(),
        length: slice.len(),
    }
}

/// # Safety
/// The handle must be open, for as long as the caller uses the store.
unsafe fn store_of<'a>(handle: *mut Handle) -> &'a Store {
    // SAFETY: an open handle, whose store outlives it; many threads may have both, and only read
    // them.
    unsafe { &*(*handle).store }
}

unsafe extern "C" fn open(
    config: *const Config,
    out: *mut *mut Store,
    text: *mut ErrorText,
) -> Status {
    // SAFETY: the host's config, valid until close; its directory ends in a zero; the option is
    // declared above, as bytes.
    let (config, directory, cache) = unsafe {
        (
            &*config,
            CStr::from_ptr((*config).directory),
            assay_option_bytes((*config).options, CACHE_BYTES.as_ptr()),
        )
    };
    let Ok(cache_bytes) = usize::try_from(cache) else {
        // SAFETY: text is the host's; the format takes nothing.
        unsafe { assay_refuse(text, c"cache_bytes must be 0 or more".as_ptr()) };
        return Status::Refused;
    };
    let durability = match config.durability {
        D0 => Durability::None,
        D3 => Durability::Immediate,
        _ => {
            // SAFETY: as above.
            unsafe { assay_refuse(text, c"redb has D0 and D3".as_ptr()) };
            return Status::Refused;
        }
    };
    let path = Path::new(OsStr::from_bytes(directory.to_bytes())).join("records.redb");
    let store = match Store::open(&path, durability, cache_bytes) {
        Ok(store) => store,
        Err(error) => return failed(&error, text),
    };
    // SAFETY: directory and text are the host's. The name of the new file must be durable too.
    if unsafe { assay_sync_directory(config.directory, text) } != Status::Ok as u32 {
        return Status::Error;
    }
    // SAFETY: the host's place for the store, which close takes back.
    unsafe { *out = Box::into_raw(Box::new(store)) };
    Status::Ok
}

unsafe extern "C" fn settings(store: *mut Store, sink: *mut Sink) {
    // SAFETY: an open store.
    let store = unsafe { &*store };
    let durability = if store.is_durable() {
        c"Immediate"
    } else {
        c"None"
    };
    // SAFETY: the host's sink; each format takes just what follows it.
    unsafe {
        assay_setting(
            sink,
            c"durability".as_ptr(),
            c"%s".as_ptr(),
            durability.as_ptr(),
        );
        assay_setting(
            sink,
            c"cache_size".as_ptr(),
            c"%zu (asked)".as_ptr(),
            store.cache_bytes,
        );
    }
}

/// Dropping a Database can't tell that it failed, so the sync stands before it and can.
unsafe extern "C" fn close(store: *mut Store, text: *mut ErrorText) -> Status {
    // SAFETY: open made it by Box::into_raw, and the host closes a store once, after its handles.
    let store = unsafe { Box::from_raw(store) };
    ended(store.sync().map(|()| Outcome::Done), text)
}

unsafe extern "C" fn handle_open(
    store: *mut Store,
    out: *mut *mut Handle,
    _: *mut ErrorText,
) -> Status {
    // SAFETY: the host's place for the handle, which handle_close takes back.
    unsafe { *out = Box::into_raw(Box::new(Handle { store })) };
    Status::Ok
}

unsafe extern "C" fn handle_close(handle: *mut Handle, _: *mut ErrorText) -> Status {
    // SAFETY: handle_open made it by Box::into_raw, and the host closes a handle once.
    drop(unsafe { Box::from_raw(handle) });
    Status::Ok
}

unsafe extern "C" fn get(
    handle: *mut Handle,
    key: Bytes,
    buffer: *mut Buffer,
    value: *mut Bytes,
    text: *mut ErrorText,
) -> Status {
    // SAFETY: an open handle, and the host's key for this call.
    let (store, key) = unsafe { (store_of(handle), slice(key)) };
    let copied = store.get(key, |found| {
        // SAFETY: buffer, value and text are the host's; what is found stands until this returns.
        unsafe { assay_copy(buffer, found.as_ptr().cast(), found.len(), value, text) }
    });
    match copied {
        Ok(Some(code)) if code == Status::Ok as u32 => Status::Ok,
        Ok(Some(_)) => Status::Error, // no memory: assay_copy has written the text
        Ok(None) => Status::Miss,
        Err(error) => failed(&error, text),
    }
}

unsafe extern "C" fn put(
    handle: *mut Handle,
    key: Bytes,
    value: Bytes,
    text: *mut ErrorText,
) -> Status {
    // SAFETY: an open handle, and the host's key and value for this call.
    let (store, key, value) = unsafe { (store_of(handle), slice(key), slice(value)) };
    let result = store.write(|table| {
        table.insert(key, value)?;
        Ok(Outcome::Done)
    });
    ended(result, text)
}

unsafe extern "C" fn remove(handle: *mut Handle, key: Bytes, text: *mut ErrorText) -> Status {
    // SAFETY: an open handle, and the host's key for this call.
    let (store, key) = unsafe { (store_of(handle), slice(key)) };
    ended(store.write(|table| database::remove(table, key)), text)
}

unsafe extern "C" fn batch(
    handle: *mut Handle,
    writes: *const Write,
    count: usize,
    text: *mut ErrorText,
) -> Status {
    // SAFETY: an open handle.
    let store = unsafe { store_of(handle) };
    let writes = if count == 0 {
        &[]
    } else {
        // SAFETY: the host's `count` writes, for this call.
        unsafe { std::slice::from_raw_parts(writes, count) }
    };
    let result = store.write(|table| {
        for write in writes {
            // SAFETY: the host's key and value for this call.
            let (key, value) = unsafe { (slice(write.key), slice(write.value)) };
            if write.remove {
                table.remove(key)?;
            } else {
                table.insert(key, value)?;
            }
        }
        Ok(Outcome::Done)
    });
    ended(result, text)
}

unsafe extern "C" fn scan(
    handle: *mut Handle,
    start: Bytes,
    _limit: usize,
    visit: Visit,
    context: *mut c_void,
    text: *mut ErrorText,
) -> Status {
    // SAFETY: an open handle, and the host's key for this call.
    let (store, start) = unsafe { (store_of(handle), slice(start)) };
    let result = store.scan(start, |key, value| {
        // SAFETY: the host's function with the host's context; the bytes stand until it returns.
        unsafe { visit(context, bytes_of(key), bytes_of(value)) }
    });
    ended(result.map(|()| Outcome::Done), text)
}

unsafe extern "C" fn add(
    handle: *mut Handle,
    key: Bytes,
    value: Bytes,
    text: *mut ErrorText,
) -> Status {
    // SAFETY: an open handle, and the host's key and value for this call.
    let (store, key, value) = unsafe { (store_of(handle), slice(key), slice(value)) };
    ended(store.write(|table| database::add(table, key, value)), text)
}

unsafe extern "C" fn compare_and_swap(
    handle: *mut Handle,
    key: Bytes,
    old: Bytes,
    value: Bytes,
    text: *mut ErrorText,
) -> Status {
    // SAFETY: an open handle, and the host's key and values for this call.
    let (store, key, old, value) =
        unsafe { (store_of(handle), slice(key), slice(old), slice(value)) };
    ended(
        store.write(|table| database::compare_and_swap(table, key, old, value)),
        text,
    )
}

unsafe extern "C" fn sync(store: *mut Store, text: *mut ErrorText) -> Status {
    // SAFETY: an open store.
    let store = unsafe { &*store };
    ended(store.sync().map(|()| Outcome::Done), text)
}

/// What can be told without walking the tree. redb's own stats (tree height, allocated pages, stored and fragmented bytes) read every page:
/// a quarter of a second and the whole of a cache of 64 MiB for a million records of 100 bytes. As the host asks while operations run, and
/// before each phase, that would be the next phase's cache. Hits and misses need redb to be built to count them in every read.
unsafe extern "C" fn inspect(store: *mut Store, sink: *mut Sink, busy: *mut bool) {
    // SAFETY: an open store; the place is the host's. Nothing goes on in the background.
    let store = unsafe {
        *busy = false;
        &*store
    };
    if let Ok(records) = store.records() {
        // SAFETY: the host's sink, and a name that ends in a zero.
        unsafe { assay_stat(sink, c"records".as_ptr(), records as f64) };
    }
    if let Ok(bytes) = store.file_bytes() {
        // SAFETY: as above.
        unsafe { assay_stat(sink, c"file_bytes".as_ptr(), bytes as f64) };
    }
}
