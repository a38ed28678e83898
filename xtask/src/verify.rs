//! `xtask verify`: evidence checked apart from what measured it.

use crate::exit;
use clap::Args;
use mage_export::verify;
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Namespaces; all that have evidence or artifacts by default.
    #[arg(value_name = "NAMESPACE")]
    namespaces: Vec<String>,
}

/// Verifies, with a line a finding; 3 where there is one.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let known = verify::namespaces(root)?;
    if let Some(unknown) = arguments.namespaces.iter().find(|n| !known.contains(n)) {
        return Ok(exit::usage(&format!(
            "namespace: found {unknown:?}, expected one of {}",
            known.join(", ")
        )));
    }
    let report = match arguments.namespaces.is_empty() {
        true => verify::verify_all(root)?,
        false => verify::verify(root, &arguments.namespaces)?,
    };
    mage_workspace::out!("{report}");
    if known.is_empty() {
        mage_workspace::outln!("no namespace has evidence or artifacts here");
    }
    Ok(match report.is_valid() {
        true => ExitCode::SUCCESS,
        false => exit::INVALID.into(),
    })
}
