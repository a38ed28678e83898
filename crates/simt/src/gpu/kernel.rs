//! The entry of a kernel: its parameters from the arguments of the launch.

use super::{Boxes, In, Out, Scratch};
use std::slice::Iter;

/// A kernel, as [`kernel!`](crate::kernel!) declares it.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Its parameters in order: name and type.
    pub parameters: &'static [(&'static str, Type)],
    /// Runs it as one thread, with arguments of those types.
    pub run: fn(&mut Iter<'_, Argument>),
}

/// Declares a kernel: `kernel! { pub fn name(a: In<f32>, out: Out<f32>, n: u32) { … } }` is a function of that
/// name without parameters, which gives the [`Kernel`].
#[macro_export]
macro_rules! kernel {
    ($(#[$meta:meta])* pub fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        pub fn $name() -> $crate::gpu::Kernel {
            fn body($($parameter: $type),*) $body

            $crate::gpu::Kernel {
                name: stringify!($name),
                parameters: &[$((
                    stringify!($parameter),
                    <$type as $crate::gpu::Parameter>::TYPE,
                )),*],
                run: |arguments| body($(<$type as $crate::gpu::Parameter>::take(arguments)),*),
            }
        }
    };
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `In<f32>`.
    Floats,
    /// `In<u32>`.
    Integers,
    /// `Out<f32>`.
    Output,
    /// `u32`.
    Dim,
    /// `Boxes`.
    Boxes,
    /// `Scratch`.
    Scratch,
}

/// What a launch gives for a parameter: the number of an array, or a dim.
#[derive(Debug, Clone, Copy)]
pub enum Argument {
    /// An input.
    Input(u16),
    /// An output.
    Output(u16),
    /// A dim.
    Dim(u32),
    /// Boxes of an input.
    Boxes(Boxes),
    /// Scratch memory.
    Scratch(u16),
}

/// A type that a kernel's parameter may have.
pub trait Parameter: Sized {
    /// This type.
    const TYPE: Type;

    /// The parameter that is given by the next argument.
    ///
    /// # Panics
    /// It is of another type or there is none, which a launch makes sure of.
    fn take(arguments: &mut Iter<'_, Argument>) -> Self;
}

impl Parameter for In<f32> {
    const TYPE: Type = Type::Floats;

    fn take(arguments: &mut Iter<'_, Argument>) -> Self {
        match arguments.next() {
            Some(&Argument::Input(number)) => Self::new(number),
            other => wrong(other),
        }
    }
}

impl Parameter for In<u32> {
    const TYPE: Type = Type::Integers;

    fn take(arguments: &mut Iter<'_, Argument>) -> Self {
        match arguments.next() {
            Some(&Argument::Input(number)) => Self::new(number),
            other => wrong(other),
        }
    }
}

impl Parameter for Out<f32> {
    const TYPE: Type = Type::Output;

    fn take(arguments: &mut Iter<'_, Argument>) -> Self {
        match arguments.next() {
            Some(&Argument::Output(number)) => Self::new(number),
            other => wrong(other),
        }
    }
}

impl Parameter for u32 {
    const TYPE: Type = Type::Dim;

    fn take(arguments: &mut Iter<'_, Argument>) -> Self {
        match arguments.next() {
            Some(&Argument::Dim(dim)) => dim,
            other => wrong(other),
        }
    }
}

impl Parameter for Boxes {
    const TYPE: Type = Type::Boxes;

    fn take(arguments: &mut Iter<'_, Argument>) -> Self {
        match arguments.next() {
            Some(&Argument::Boxes(boxes)) => boxes,
            other => wrong(other),
        }
    }
}

impl Parameter for Scratch {
    const TYPE: Type = Type::Scratch;

    fn take(arguments: &mut Iter<'_, Argument>) -> Self {
        match arguments.next() {
            Some(&Argument::Scratch(number)) => Self::new(number),
            other => wrong(other),
        }
    }
}

fn wrong(argument: Option<&Argument>) -> ! {
    panic!("{argument:?} is not what the launch checked")
}
