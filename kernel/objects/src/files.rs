//! System calls on files that each request makes once.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Returns whether an open file still has a name in a directory.
pub fn has_name(descriptor: RawFd) -> Result<bool> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the place has the size that the system fills.
    if unsafe { libc::fstat(descriptor, status.as_mut_ptr()) } != 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the call has filled it.
    Ok(unsafe { status.assume_init() }.st_nlink > 0)
}

/// Fills the buffer with a file's bytes from `start` if all of them are in the page cache, and
/// returns whether it did. Returns false if the file is too short, or if the system cannot read
/// from the page cache only. Does not follow a symbolic link.
pub fn read_cached(path: &Path, start: u64, buffer: &mut [u8]) -> Result<bool> {
    // opening must not block if there is a named pipe instead of the file
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    Ok(read_at_once(&file, start, buffer)? == buffer.len())
}

const SCHEME: &str = "local://";
const LONGEST_ORDINARY: usize = 255;

/// Returns the folder and the name of an address of a local store, relative to its root, if the
/// address is ordinary: it names no root, no name in it is empty or begins with a dot, and it has
/// at most 255 bytes, all ASCII. `None` does not mean that the address is invalid.
pub fn ordinary_place(address: &str) -> Option<(&str, &str)> {
    let path = address.strip_prefix(SCHEME)?;
    if path.len() > LONGEST_ORDINARY {
        return None;
    }
    let mut begins_name = true;
    for byte in path.bytes() {
        if !byte.is_ascii() || byte == 0 || (begins_name && (byte == b'/' || byte == b'.')) {
            return None;
        }
        begins_name = byte == b'/';
    }
    if begins_name {
        return None;
    }
    Some(path.rsplit_once('/').unwrap_or(("", path)))
}

/// The state of a file, which shows whether the file was changed or replaced.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct FileState {
    /// In bytes.
    pub size: u64,
    /// A digest of device, inode, size and times of change, which differs after the file was
    /// written, replaced or restored.
    pub identity: u64,
}

/// Returns the state of a regular file, `None` if there is none. Does not follow a symbolic link.
pub fn state(path: &Path) -> Result<Option<FileState>> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(metadata.is_file().then(|| state_from(&metadata)))
}

/// Returns the state of an open file.
pub fn open_state(descriptor: RawFd) -> Result<FileState> {
    if descriptor < 0 {
        return Err(Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: the caller keeps ownership of the descriptor, which is not closed here.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    Ok(state_from(&file.metadata()?))
}

/// Fills the buffer with all of a file's bytes if they are in the page cache and the file is as long
/// as the buffer. Returns the file's identity from before the read, `None` otherwise. Does not follow
/// a symbolic link.
pub fn read_whole_cached(path: &Path, buffer: &mut [u8]) -> Result<Option<u64>> {
    // as above
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    // taken before the read, so that a concurrent change results in another identity
    let state = state_from(&file.metadata()?);
    if state.size != buffer.len() as u64 || read_at_once(&file, 0, buffer)? != buffer.len() {
        return Ok(None);
    }
    Ok(Some(state.identity))
}

fn state_from(metadata: &Metadata) -> FileState {
    let size = metadata.size();
    let parts = [
        metadata.dev(),
        metadata.ino(),
        size,
        metadata.mtime().cast_unsigned(),
        metadata.mtime_nsec().cast_unsigned(),
        metadata.ctime().cast_unsigned(),
        metadata.ctime_nsec().cast_unsigned(),
    ];
    let identity = parts
        .into_iter()
        .fold(0, |digest, part| scrambled(digest ^ part));
    FileState { size, identity }
}

/// Returns the output of SplitMix64 for a state: a bijection in which each input bit affects all
/// output bits (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn scrambled(state: u64) -> u64 {
    let mut value = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

fn is_absence(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Creates a file without syncing it, and removes it if it cannot be written completely. Does not
/// follow a symbolic link.
pub fn write_new(path: &Path, body: &[u8]) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
    file.write_all(body).inspect_err(|_| {
        // report the error of the write, not that of the removal
        let _ = fs::remove_file(path);
    })
}

#[cfg(target_os = "linux")]
fn read_at_once(file: &File, start: u64, buffer: &mut [u8]) -> Result<usize> {
    use std::os::fd::AsRawFd;

    let Ok(start) = libc::off_t::try_from(start) else {
        return Ok(0);
    };
    let place = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: the buffer is writable, has that length, and outlives the call.
    let read = unsafe { libc::preadv2(file.as_raw_fd(), &place, 1, start, libc::RWF_NOWAIT) };
    usize::try_from(read).map_err(|_| Error::last_os_error())
}

#[cfg(not(target_os = "linux"))]
fn read_at_once(_: &File, _: u64, _: &mut [u8]) -> Result<usize> {
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

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
    fn places_of_ordinary_addresses() {
        assert_eq!(ordinary_place("local://a/b/c"), Some(("a/b", "c")));
        assert_eq!(ordinary_place("local://a"), Some(("", "a")));
        assert_eq!(
            ordinary_place("local://a b/c.d,e="),
            Some(("a b", "c.d,e="))
        );
        let bad = [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/..",
            "../a",
            "a/./b",
            ".hidden/a",
            "a\0b",
            "é",
        ];
        for path in bad {
            assert_eq!(ordinary_place(&format!("local://{path}")), None, "{path:?}");
        }
        assert_eq!(ordinary_place("s3://a/b"), None);
        let long = "x".repeat(LONGEST_ORDINARY);
        assert!(ordinary_place(&format!("local://{long}")).is_some());
        assert_eq!(ordinary_place(&format!("local://{long}x")), None);
    }

    #[test]
    fn the_state_of_a_file_changes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(state(&path).unwrap(), None);
        assert_eq!(state(&path.join("b")).unwrap(), None);
        assert_eq!(state(folder.path()).unwrap(), None);
        fs::write(&path, b"0123").unwrap();
        let before = state(&path).unwrap().unwrap();
        assert_eq!(before.size, 4);
        assert_eq!(state(&path).unwrap(), Some(before));
        let file = File::open(&path).unwrap();
        assert_eq!(open_state(file.as_raw_fd()).unwrap(), before);
        assert!(open_state(-1).is_err());
        // equal bytes, size and modification time do not make another file the same one
        let other = folder.path().join("b");
        fs::write(&other, b"0123").unwrap();
        File::open(&other)
            .unwrap()
            .set_modified(fs::metadata(&path).unwrap().modified().unwrap())
            .unwrap();
        fs::rename(&other, &path).unwrap();
        assert_ne!(state(&path).unwrap().unwrap().identity, before.identity);
        let link = folder.path().join("c");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(state(&link).unwrap(), None);
    }

    #[test]
    fn a_whole_file_is_read_only_at_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"0123").unwrap();
        let mut buffer = [0; 4];
        // a file system may be unable to tell, and says so
        if let Some(identity) = read_whole_cached(&path, &mut buffer).unwrap_or(None) {
            assert_eq!(&buffer, b"0123");
            assert_eq!(identity, state(&path).unwrap().unwrap().identity);
        }
        assert_eq!(read_whole_cached(&path, &mut [0; 3]).unwrap_or(None), None);
        assert_eq!(read_whole_cached(&path, &mut [0; 5]).unwrap_or(None), None);
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
