//! What is run: inputs, FP64 references, the table of variants, PTX objects and their launch.

pub mod compare;
pub mod hard;
pub mod header;
pub mod inputs;
pub mod launch;
pub mod objects;
pub mod products;
pub mod reference;
pub mod resources;
pub mod suite;
pub mod variants;
