//! Whether the driver lets this process read hardware counters, without asking the device.

use std::path::Path;

/// The capability that lets a process read counters that are kept for administrators.
const CAP_SYS_ADMIN: u64 = 21;

/// Whether counters may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// They may, and why.
    Granted(&'static str),
    /// They may not.
    Denied,
    /// Not known, and why.
    Unknown(String),
}

/// Asks the driver's parameters and this process's capabilities, both below `root` (`/`).
pub fn permission(root: &Path) -> Permission {
    let params = root.join("proc/driver/nvidia/params");
    let Ok(text) = std::fs::read_to_string(&params) else {
        return Permission::Unknown("the driver shows no parameters".to_owned());
    };
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.map(|rest| rest.trim_start_matches(':').trim().to_owned())
    };
    match value("RmProfilingAdminOnly").as_deref() {
        Some("0") => Permission::Granted("to every user"),
        Some("1") if is_administrator(root) => {
            Permission::Granted("to an administrator, as this is")
        }
        Some("1") => Permission::Denied,
        other => Permission::Unknown(format!("RmProfilingAdminOnly is {other:?}")),
    }
}

fn is_administrator(root: &Path) -> bool {
    let status = std::fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> CAP_SYS_ADMIN & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_and_the_capabilities_decide() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert!(matches!(permission(root.path()), Permission::Unknown(_)));
        let params = "proc/driver/nvidia/params";
        write("proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n");
        write(
            params,
            "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n",
        );
        assert_eq!(permission(root.path()), Permission::Denied);
        write("proc/self/status", "CapEff:\t000001ffffffffff\n");
        assert!(
            matches!(permission(root.path()), Permission::Granted(why) if why.contains("administrator"))
        );
        write(params, "RmProfilingAdminOnly: 0\n");
        assert_eq!(
            permission(root.path()),
            Permission::Granted("to every user")
        );
        write(params, "RmProfilingAdminOnly: x\n");
        assert!(matches!(permission(root.path()), Permission::Unknown(_)));
    }
}
