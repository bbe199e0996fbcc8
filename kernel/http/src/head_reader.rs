//! An incremental parser of request heads. It examines every byte once, and rejects an invalid head
//! at its first invalid line instead of its end, which may never arrive.

use super::fault::Fault;
use super::head::{MAX_HEAD_BYTES, MAX_HEADER_LINES};
use super::request_line::{check_request_line, is_token_byte};

/// The most empty lines before a request (RFC 9112, 2.2, wants one to be ignored).
const MAX_EMPTY_LINES: usize = 4;

/// The bytes of a head so far.
#[derive(Debug, Default)]
pub struct HeadReader {
    received: Vec<u8>,
    line_start: usize,
    lines: usize,
    empty_lines: usize,
}

impl HeadReader {
    /// Returns whether no byte of a head has arrived.
    pub fn is_empty(&self) -> bool {
        self.received.is_empty()
    }

    /// Consumes the bytes of `data` that belong to the head. Returns their number, and the head once
    /// it is complete; the reader is then ready for the next head.
    pub fn take(&mut self, data: &[u8]) -> Result<(usize, Option<Vec<u8>>), Fault> {
        let mut taken = 0;
        while taken < data.len() {
            let rest = &data[taken..];
            let end = rest.iter().position(|&byte| byte == b'\n');
            let piece = &rest[..end.map_or(rest.len(), |end| end + 1)];
            self.append(piece)?;
            taken += piece.len();
            if end.is_some() && self.end_line()? {
                let head = std::mem::take(&mut self.received);
                *self = HeadReader::default();
                return Ok((taken, Some(head)));
            }
        }
        Ok((taken, None))
    }

    fn append(&mut self, piece: &[u8]) -> Result<(), Fault> {
        if self.received.is_empty() && !is_token_byte(piece[0]) && !b"\r\n".contains(&piece[0]) {
            return Err(Fault::bad("malformed request line"));
        }
        if self.received.len() + piece.len() > MAX_HEAD_BYTES {
            return Err(Fault::head_too_large("request head too large"));
        }
        self.received.extend_from_slice(piece);
        Ok(())
    }

    /// Checks the line that has just ended; returns whether it ends the head.
    fn end_line(&mut self) -> Result<bool, Fault> {
        let line = self.received[self.line_start..]
            .strip_suffix(b"\r\n")
            .ok_or(Fault::bad("a line ends without CR LF"))?;
        if line.is_empty() {
            if self.lines > 0 {
                return Ok(true);
            }
            self.received.clear();
            self.empty_lines += 1;
            if self.empty_lines > MAX_EMPTY_LINES {
                return Err(Fault::bad("no request line"));
            }
            return Ok(false);
        }
        if self.lines == 0 {
            check_request_line(line)?;
        }
        self.lines += 1;
        if self.lines > MAX_HEADER_LINES + 1 {
            return Err(Fault::head_too_large("too many header lines"));
        }
        self.line_start = self.received.len();
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn a_head_is_the_same_in_any_pieces() {
        let stream = [b"\r\n".as_slice(), HEAD, b"body"].concat();
        for size in 1..stream.len() {
            let mut reader = HeadReader::default();
            let mut head = None;
            let mut rest = stream.as_slice();
            while head.is_none() {
                let (taken, found) = reader.take(&rest[..size.min(rest.len())]).unwrap();
                rest = &rest[taken..];
                head = found;
            }
            assert_eq!((head.as_deref(), rest), (Some(HEAD), b"body".as_slice()));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn what_will_never_be_a_request_is_refused_early() {
        for (data, status) in [
            (b"\x16\x03\x01".as_slice(), 400),
            (b"GET /\r\n", 400),
            (b"GET / HTTP/1.1\n", 400),
            (b"\n", 400),
            (b"GET / HTTP/1.1\r\nHost: a\n", 400),
            (b"\r\n\r\n\r\n\r\n\r\n", 400),
            (b"PRI * HTTP/2.0\r\n", 505),
            (&[b'a'; MAX_HEAD_BYTES + 1], 431),
        ] {
            let fault = HeadReader::default().take(data).unwrap_err();
            assert_eq!(fault.status, status, "{}", String::from_utf8_lossy(data));
        }
        let lines = [b"GET / HTTP/1.1\r\n".to_vec(), b"a: b\r\n".repeat(201)].concat();
        let mut reader = HeadReader::default();
        let faults = lines.iter().filter_map(|byte| reader.take(&[*byte]).err());
        assert_eq!(faults.map(|fault| fault.status).next(), Some(431));
    }
}
