//! Small questions to the system about files, asked once for each request.

use std::fs::{self, File, OpenOptions};
use std::io::{Error, Result, Write};
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

/// Writes a file that is new, and syncs nothing. One that could not be written whole does not stay.
/// A link in its place is not followed.
pub fn write_new(path: &Path, body: &[u8]) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o666);
    let mut file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
    file.write_all(body).inspect_err(|_| {
        // what is told is why it was not written
        let _ = fs::remove_file(path);
    })
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
    fn a_new_file_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_new(&path, b"0123").unwrap();
        assert!(write_new(&path, b"4567").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"0123");
        let link = folder.path().join("b");
        std::os::unix::fs::symlink(folder.path().join("c"), &link).unwrap();
        assert!(write_new(&link, b"4567").is_err());
        assert!(write_new(&folder.path().join("d").join("e"), b"").is_err());
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
