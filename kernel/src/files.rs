//! Small questions to the system about files, asked once for each request.

use std::fs::{File, OpenOptions};
use std::io::{Error, Result};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Returns whether an open file has a name in some folder.
pub fn has_name(descriptor: RawFd) -> Result<bool> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the place has the size that the system fills.
    if unsafe { libc::fstat(descriptor, status.as_mut_ptr()) } != 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the call has filled it.
    Ok(unsafe { status.assume_init() }.st_nlink > 0)
}

/// Fills the buffer with a file's bytes from `start` on if the system has them in its memory, and
/// returns whether it did; not where the file ends before, and not on systems that cannot tell.
/// A link is not followed.
pub fn read_cached(path: &Path, start: u64, buffer: &mut [u8]) -> Result<bool> {
    // a named pipe in the file's place must not block who opens it
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    Ok(read_at_once(&file, start, buffer)? == buffer.len())
}

#[cfg(target_os = "linux")]
fn read_at_once(file: &File, start: u64, buffer: &mut [u8]) -> Result<usize> {
    let Ok(start) = libc::off_t::try_from(start) else {
        return Ok(0);
    };
    let place = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: the buffer is ours to write, of that length, and stays until the call returns.
    let read = unsafe { libc::preadv2(file.as_raw_fd(), &place, 1, start, libc::RWF_NOWAIT) };
    usize::try_from(read).map_err(|_| Error::last_os_error())
}

#[cfg(not(target_os = "linux"))]
fn read_at_once(_: &File, _: u64, _: &mut [u8]) -> Result<usize> {
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_loses_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = File::create(&path).unwrap();
        assert!(has_name(file.as_raw_fd()).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!has_name(file.as_raw_fd()).unwrap());
        assert!(has_name(-1).is_err());
    }

    #[test]
    fn what_is_not_all_there_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        File::create(&path)
            .unwrap()
            .write_all(b"0123456789")
            .unwrap();
        let mut buffer = [0; 4];
        // a file system may be unable to tell, and says so
        if read_cached(&path, 3, &mut buffer).unwrap_or(false) {
            assert_eq!(&buffer, b"3456");
        }
        assert!(!read_cached(&path, 7, &mut buffer).unwrap_or(false));
        assert!(!read_cached(&path, u64::MAX, &mut buffer).unwrap_or(false));
        assert!(read_cached(&folder.path().join("b"), 0, &mut buffer).is_err());
        assert!(!read_cached(folder.path(), 0, &mut buffer).unwrap_or(false));
    }
}
