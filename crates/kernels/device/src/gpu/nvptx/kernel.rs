//! The entry point of an object.

/// Declares a kernel: `kernel! { pub fn name(a: In<f32>, out: Out<f32>, n: u32) { … } }` is an entry of that
/// name, which a launch finds in the object.
macro_rules! kernel {
    ($(#[$meta:meta])* pub fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        // SAFETY: one variant is compiled into an object, so that the symbol is unique.
        #[unsafe(no_mangle)]
        pub extern "ptx-kernel" fn $name($($parameter: $type),*) {
            #[deny(unsafe_code)]
            #[inline(always)]
            fn body($($parameter: $type),*) $body

            body($($parameter),*)
        }
    };
}
pub(crate) use kernel;
