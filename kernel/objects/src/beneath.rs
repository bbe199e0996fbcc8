//! Folders below a root, opened without following symbolic links.

use std::os::fd::OwnedFd;
use std::path::Path;

/// Opens a folder below a root for reading by two system calls. The root may be a symbolic link, or
/// be behind one; nothing below it may. None if that fails for any reason, also because the system
/// cannot do it: the caller then opens one folder after another, which reports the error.
#[cfg(target_os = "linux")]
pub fn open_folder(root: &Path, folder: &Path) -> Option<OwnedFd> {
    use std::ffi::CString;
    use std::fs::File;
    use std::mem::{MaybeUninit, size_of};
    use std::os::fd::{AsRawFd, FromRawFd, RawFd};
    use std::os::unix::ffi::OsStrExt;

    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let name = CString::new(folder.as_os_str().as_bytes()).ok()?;
    let root = File::open(root).ok()?;
    // SAFETY: all bytes zero are a valid value of this structure of integers.
    let mut how = unsafe { MaybeUninit::<libc::open_how>::zeroed().assume_init() };
    how.flags = u64::try_from(flags).ok()?;
    how.resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
    // SAFETY: name and structure outlive the call, which is given the structure's size.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            root.as_raw_fd(),
            name.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    };
    let descriptor = RawFd::try_from(opened).ok().filter(|&fd| fd >= 0)?;
    // SAFETY: the call has just made the descriptor, and nobody else owns it.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// As on Linux; other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub fn open_folder(_: &Path, _: &Path) -> Option<OwnedFd> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_folders_below_the_root_are_opened_and_no_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(root.join("file"), b"").unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink(&root, folder.path().join("to-root")).unwrap();
        let opens = |root: &Path, name: &str| open_folder(root, Path::new(name)).is_some();
        // where the system lacks the call, nothing is opened
        if !opens(&root, "a") {
            return;
        }
        assert!(opens(&root, "a/b"));
        assert!(opens(&folder.path().join("to-root"), "a/b"));
        for name in [
            "link",
            "link/b",
            "out",
            "..",
            "a/../..",
            "a/../../outside",
            "/",
            "/tmp",
            "file",
            "missing",
            "",
            "a\0b",
        ] {
            assert!(!opens(&root, name), "{name:?}");
        }
        assert!(!opens(&root, &"a/".repeat(5000)));
        assert!(!opens(&folder.path().join("missing"), "a"));
    }
}
