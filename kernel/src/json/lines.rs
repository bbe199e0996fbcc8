//! The scan of JSON lines.

use arrow_schema::Schema;

use super::numbers::number;
use super::shape::Shape;
use super::text::{text, unescaped};

/// Deeper values are for a reader that shows them as text.
const MAX_DEPTH: usize = 32;

/// What the lines of a file have been found to be.
pub struct Lines {
    root: Shape,
    rows: u64,
    objects: u64,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines {
            root: Shape::root(),
            rows: 0,
            objects: 0,
        }
    }
}

impl Lines {
    /// Scans whole lines. Returns whether a fast reader may decode them: each is empty or a valid
    /// object, no object has a name twice, and no number loses a digit. After false, the lines are
    /// of no use.
    pub fn add(&mut self, lines: &[u8]) -> bool {
        if std::str::from_utf8(lines).is_err() {
            return false;
        }
        let mut scan = Scan {
            bytes: lines,
            at: 0,
            objects: self.objects,
        };
        let rows = scan.rows(&mut self.root);
        self.objects = scan.objects;
        self.rows += rows.unwrap_or(0);
        rows.is_some()
    }

    /// Returns the number of objects in lines.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the columns, in order of their first appearance, None if a column has no type that
    /// holds all of its values as they are written, or lines have no column at all.
    pub fn schema(&self) -> Option<Schema> {
        let fields = self.root.fields()?;
        (!fields.is_empty() || self.rows == 0).then(|| Schema::new(fields))
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    objects: u64,
}

impl<'a> Scan<'a> {
    fn rows(&mut self, root: &mut Shape) -> Option<u64> {
        let mut rows = 0;
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return Some(rows),
                Some(b'\n') => self.at += 1,
                Some(b'{') => {
                    self.object(root, 0)?;
                    rows += 1;
                    self.skip_blanks();
                    if !matches!(self.peek(), None | Some(b'\n')) {
                        return None;
                    }
                }
                Some(_) => return None,
            }
        }
    }

    fn value(&mut self, shape: &mut Shape, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => {
                self.text()?;
                shape.add_text();
            }
            b'{' => self.object(shape, depth)?,
            b'[' => self.list(shape, depth)?,
            b't' => {
                self.word(b"true")?;
                shape.add_bool();
            }
            b'f' => {
                self.word(b"false")?;
                shape.add_bool();
            }
            b'n' => self.word(b"null")?,
            _ => {
                let (number, length) = number(&self.bytes[self.at..])?;
                self.at += length;
                shape.add_number(number);
            }
        }
        Some(())
    }

    fn object(&mut self, shape: &mut Shape, depth: usize) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.at += 1;
        self.objects += 1;
        let object = self.objects;
        shape.add_object();
        self.skip_blanks();
        if self.take(b'}') {
            return Some(());
        }
        let mut guess = 0;
        loop {
            self.skip_blanks();
            let (place, member) = shape.member(&unescaped(self.text()?), guess, object)?;
            guess = place + 1;
            self.skip_blanks();
            self.take(b':').then_some(())?;
            self.skip_blanks();
            self.value(member, depth + 1)?;
            self.skip_blanks();
            if self.take(b'}') {
                return Some(());
            }
            self.take(b',').then_some(())?;
        }
    }

    fn list(&mut self, shape: &mut Shape, depth: usize) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.at += 1;
        let items = shape.add_list();
        self.skip_blanks();
        if self.take(b']') {
            return Some(());
        }
        loop {
            self.skip_blanks();
            self.value(items, depth + 1)?;
            self.skip_blanks();
            if self.take(b']') {
                return Some(());
            }
            self.take(b',').then_some(())?;
        }
    }

    /// Reads a text, and returns it as it is written, without its quotation marks.
    fn text(&mut self) -> Option<&'a [u8]> {
        self.take(b'"').then_some(())?;
        let rest = &self.bytes[self.at..];
        let length = text(rest)?;
        self.at += length + 1;
        Some(&rest[..length])
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes[self.at..]
            .starts_with(word)
            .then(|| self.at += word.len())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    fn schema_of(lines: &str) -> Option<Schema> {
        let mut found = Lines::default();
        found.add(lines.as_bytes()).then_some(())?;
        found.schema()
    }

    #[test]
    fn types_hold_all_values() {
        let lines = "{\"a\": 1, \"b\": [true, null], \"\\u0063\": {\"d\": \"x\"}}\r\n\n \t\n\
                     {\"c\": null, \"e\": 0.5, \"a\": -2}\n{\"e\": 1}";
        let schema = schema_of(lines).unwrap();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
        assert_eq!(names, ["a", "b", "c", "e"]);
        assert_eq!(schema.field(0).data_type(), &DataType::Int64);
        assert!(matches!(schema.field(1).data_type(), DataType::List(item)
            if item.data_type() == &DataType::Boolean));
        assert!(
            matches!(schema.field(2).data_type(), DataType::Struct(fields)
            if fields[0].data_type() == &DataType::Utf8)
        );
        assert_eq!(schema.field(3).data_type(), &DataType::Float64);
        assert_eq!(schema_of("").unwrap().fields().len(), 0);
    }

    #[test]
    fn lines_have_more_names_than_objects_in_them() {
        let columns = |count: usize| {
            let names: Vec<_> = (0..count).map(|at| format!("\"c{at}\": 1")).collect();
            schema_of(&format!("{{{}}}\n", names.join(", "))).map(|schema| schema.fields().len())
        };
        assert_eq!(columns(10_000), Some(10_000));
        assert_eq!(columns(10_001), None);
    }

    #[test]
    fn values_at_risk_are_not_vouched_for() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(40), "]".repeat(40));
        let wide: Vec<_> = (0..1001).map(|at| format!("\"c{at}\": 1")).collect();
        for lines in [
            "{\"a\": 1, \"a\": 2}",
            "{\"a\": 1, \"\\u0061\": 2}",
            "{\"a\": {\"b\": 1, \"b\": 1}}",
            "{\"a\": 12345678901234567890}",
            "{\"a\": 9007199254740993}\n{\"a\": 0.5}",
            "{\"a\": -0}\n{\"a\": 0.5}",
            "{\"a\": 0.1000000000000000055}",
            "{\"a\": 1}\n{\"a\": \"1\"}",
            "{\"a\": []}\n{\"a\": {\"b\": 1}}",
            "{\"a\": {}}",
            "{}",
            "1",
            "[1]",
            "{\"a\": 1} {\"a\": 2}",
            "{\"a\":\n1}",
            "{\"a\": 1,}",
            "{\"a\": truth}",
            "{\"a\": 1",
            "{\"a\": 01}",
            "{\"a\": NaN}",
            "{'a': 1}",
            "{\"a\" 1}",
            "{\"a\": \"\\ud800\"}",
            "\u{feff}{\"a\": 1}",
            &deep,
            &format!("{{\"a\": {{{}}}}}", wide.join(", ")),
        ] {
            assert!(schema_of(lines).is_none(), "{lines}");
        }
        assert!(!Lines::default().add(b"{\"a\": \"\xff\"}"));
    }
}
