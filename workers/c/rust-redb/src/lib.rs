//! redb for Assay's native worker: a driver in Rust behind the C header `assay_driver.h`. `header` is that header by hand,
//! `layout` tells what the compiler made of it, `database` is redb without a pointer, and `driver` stands between the two.

mod database;
mod driver;
mod header;
mod layout;
