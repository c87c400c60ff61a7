//! Tests of the store against real git.
