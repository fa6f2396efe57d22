#!/bin/sh
# Prints what keeps redb's driver from being built here, or nothing. Fetches the crate where cargo does not have it yet.
cd "$(dirname "$0")" || exit 1
command -v cargo >/dev/null || { echo "apt-get install rustup && rustup default stable"; exit 0; }
minor=$(rustc --version 2>/dev/null | sed -n 's/^rustc 1\.\([0-9]*\)\..*/\1/p')
[ "${minor:-0}" -ge 90 ] || { echo "Rust 1.90 or later is needed: rustup default stable"; exit 0; }
cargo fetch --quiet --offline 2>/dev/null || timeout 60 cargo fetch --quiet 2>/dev/null ||
  echo "cargo could not get the crate redb (is there a network?)"
