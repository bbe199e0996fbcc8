//! A place in a text in JSON.

use super::text::text;

/// A place that moves forward over the parts of a text.
pub struct Cursor<'a> {
    /// The text.
    pub bytes: &'a [u8],
    /// The position in it.
    pub at: usize,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the beginning of a text.
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Returns the place of the next line's object, Some(None) after the last line, and None for
    /// other values.
    pub fn next_object(&mut self) -> Option<Option<usize>> {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return Some(None),
                Some(b'\n') => self.at += 1,
                Some(b'{') => return Some(Some(self.at)),
                Some(_) => return None,
            }
        }
    }

    /// Skips blanks up to the end of the line; None if anything else is there.
    pub fn end_of_line(&mut self) -> Option<()> {
        self.skip_blanks();
        matches!(self.peek(), None | Some(b'\n')).then_some(())
    }

    /// Reads a text, and returns it as it is written, without its quotation marks.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        self.take(b'"').then_some(())?;
        let rest = &self.bytes[self.at..];
        let length = text(rest)?;
        self.at += length + 1;
        Some(&rest[..length])
    }

    /// Passes over a value, of which only texts and brackets are looked at: it ends before the comma,
    /// bracket or line end after it.
    pub fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.text()?;
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                None | Some(b',' | b'}' | b']' | b'\n') if depth == 0 => return Some(()),
                Some(b'}' | b']') => depth -= 1,
                None => return None,
                Some(_) => {}
            }
            self.at += 1;
        }
    }

    /// Skips a word; None if it is not there.
    pub fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes[self.at..]
            .starts_with(word)
            .then(|| self.at += word.len())
    }

    /// Returns the next byte, None at the end.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips a byte if it is the next one; returns whether it was.
    pub fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// Skips blanks other than the end of the line.
    pub fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }
}
