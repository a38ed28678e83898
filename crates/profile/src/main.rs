//! `mage-profile`: kernel time under Nsight Systems.

fn main() -> std::process::ExitCode {
    mage_profile::cli::main()
}
