//! The claims.
