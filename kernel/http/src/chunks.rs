//! An incremental decoder of chunked bodies (RFC 9112, 7.1). Extensions and trailers are ignored;
//! their size is limited so that a client cannot waste the server's time.

use super::fault::Fault;

/// The most bytes of all extensions of a body's chunks, and of its trailers.
pub const MAX_EXTRA_BYTES: usize = 8 << 10;

/// The most hexadecimal digits of a chunk's size: fewer than would overflow.
const MAX_SIZE_DIGITS: usize = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    Extension,
    SizeEnd,
    Data,
    DataEnd,
    DataLastEnd,
    TrailerStart,
    Trailer,
    TrailerEnd,
    LastEnd,
    Done,
}

/// The position in the body after the last piece.
#[derive(Debug)]
pub struct ChunkReader {
    state: State,
    /// The remaining bytes of the chunk, or the digits of its size so far as a number.
    size: u64,
    digits: usize,
    extensions: usize,
    trailers: usize,
}

impl Default for ChunkReader {
    fn default() -> Self {
        ChunkReader {
            state: State::Size,
            size: 0,
            digits: 0,
            extensions: 0,
            trailers: 0,
        }
    }
}

impl ChunkReader {
    /// Returns whether the body has ended.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Consumes the bytes of `data` that belong to the body, and appends their content to `body`.
    /// Returns the number of consumed bytes.
    pub fn take(&mut self, data: &[u8], body: &mut Vec<u8>) -> Result<usize, Fault> {
        let mut at = 0;
        while at < data.len() && !self.is_done() {
            if self.state == State::Data {
                let left = usize::try_from(self.size).unwrap_or(usize::MAX);
                let piece = &data[at..data.len().min(at.saturating_add(left))];
                body.extend_from_slice(piece);
                at += piece.len();
                self.size -= piece.len() as u64;
                if self.size == 0 {
                    self.state = State::DataEnd;
                }
                continue;
            }
            self.state = self.step(data[at])?;
            at += 1;
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8) -> Result<State, Fault> {
        let bad_chunk = Err(Fault::bad("malformed chunk"));
        Ok(match (self.state, byte) {
            (State::Size, b'\r') if self.digits > 0 => State::SizeEnd,
            (State::Size, b';') if self.digits > 0 => State::Extension,
            (State::Size, _) => return self.add_digit(byte),
            (State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, _) => {
                self.extensions += 1;
                check_text(byte, self.extensions, "chunk extensions too large")?;
                State::Extension
            }
            (State::SizeEnd, b'\n') if self.size == 0 => State::TrailerStart,
            (State::SizeEnd, b'\n') => State::Data,
            (State::DataEnd, b'\r') => State::DataLastEnd,
            (State::DataLastEnd, b'\n') => {
                self.digits = 0;
                State::Size
            }
            (State::TrailerStart, b'\r') => State::LastEnd,
            (State::Trailer, b'\r') => State::TrailerEnd,
            (State::TrailerStart | State::Trailer, _) => {
                self.trailers += 1;
                check_text(byte, self.trailers, "trailers too large")?;
                State::Trailer
            }
            (State::TrailerEnd, b'\n') => State::TrailerStart,
            (State::LastEnd, b'\n') => State::Done,
            _ => return bad_chunk,
        })
    }

    fn add_digit(&mut self, byte: u8) -> Result<State, Fault> {
        let digit = char::from(byte).to_digit(16);
        self.digits += 1;
        match digit {
            Some(digit) if self.digits <= MAX_SIZE_DIGITS => {
                self.size = (self.size << 4) | u64::from(digit);
                Ok(State::Size)
            }
            _ => Err(Fault::bad("malformed chunk size")),
        }
    }
}

fn check_text(byte: u8, total: usize, too_large: &'static str) -> Result<(), Fault> {
    if byte.is_ascii_control() && byte != b'\t' {
        return Err(Fault::bad("malformed chunk"));
    }
    if total > MAX_EXTRA_BYTES {
        return Err(Fault::bad(too_large));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &[u8], size: usize) -> Result<(Vec<u8>, usize, bool), Fault> {
        let mut reader = ChunkReader::default();
        let (mut body, mut taken) = (Vec::new(), 0);
        for piece in data.chunks(size) {
            taken += reader.take(piece, &mut body)?;
        }
        Ok((body, taken, reader.is_done()))
    }

    #[test]
    fn a_body_is_the_same_in_any_pieces() {
        let data = b"3;a=\"b\"\r\nabc\r\n0A\r\n0123456789\r\n000;c\r\nd: e\r\nf:\r\n\r\nGET";
        for size in 1..data.len() {
            let (body, taken, done) = read(data, size).unwrap();
            assert_eq!(body, b"abc0123456789");
            assert_eq!((taken, done), (data.len() - 3, true), "{size}");
        }
        for end in 0..data.len() - 3 {
            assert!(!read(&data[..end], 7).unwrap().2);
        }
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for data in [
            "\r\n",
            ";a\r\n",
            "g\r\n",
            "0x1\r\n",
            "-1\r\n",
            "1 \r\na\r\n",
            "1\na\r\n",
            "1\r\nab",
            "1\r\na\n",
            "1\r\na\r\r",
            "1;\n",
            "1;a\0",
            "0\r\na\n",
            "0\r\n\ra",
            "1000000000000000\r\n",
            "0000000000000001\r\n",
        ] {
            assert!(read(data.as_bytes(), 100).is_err(), "{data:?}");
        }
    }

    #[test]
    fn extensions_and_trailers_are_limited() {
        let most = "a".repeat(MAX_EXTRA_BYTES);
        assert!(
            read(format!("1;{most}\r\na\r\n0\r\n\r\n").as_bytes(), 9)
                .unwrap()
                .2
        );
        assert!(
            read(format!("0\r\n{most}\r\n\r\n").as_bytes(), 9)
                .unwrap()
                .2
        );
        let many = "1;abcd\r\na\r\n".repeat(MAX_EXTRA_BYTES / 4);
        assert!(read(format!("{many}0\r\n\r\n").as_bytes(), 9).unwrap().2);
        assert!(read(format!("{many}0;a\r\n\r\n").as_bytes(), 9).is_err());
        let trailers = "a: b\r\n".repeat(MAX_EXTRA_BYTES / 4);
        assert!(read(format!("0\r\n{trailers}c:\r\n\r\n").as_bytes(), 9).is_err());
    }
}
