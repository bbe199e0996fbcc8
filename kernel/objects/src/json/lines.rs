//! The scan of JSON lines.

use arrow_schema::{DataType, Field, Schema};

use super::cursor::Cursor;
use super::numbers::{Number, number};
use super::shape::Shape;
use super::text::unescaped;
use super::values::values;

/// Deeper values are for a reader that shows them as text.
const MAX_DEPTH: usize = 32;

/// What the lines of a file have been found to be.
pub struct Lines {
    root: Shape,
    rows: u64,
    objects: u64,
    doubled_rows: u64,
    first_doubled: Option<Vec<u8>>,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines {
            root: Shape::root(),
            rows: 0,
            objects: 0,
            doubled_rows: 0,
            first_doubled: None,
        }
    }
}

impl Lines {
    /// Scans whole lines. Returns whether each is empty or a valid object, and none is deeper or has
    /// more names than a fast reader takes. After false, the lines are of no use.
    pub fn add(&mut self, lines: &[u8]) -> bool {
        if std::str::from_utf8(lines).is_err() {
            return false;
        }
        let mut scan = Scan {
            cursor: Cursor::new(lines),
            objects: self.objects,
            is_doubled: false,
        };
        let added = self.add_rows(&mut scan).is_some();
        self.objects = scan.objects;
        added
    }

    fn add_rows(&mut self, scan: &mut Scan<'_>) -> Option<()> {
        while let Some(start) = scan.cursor.next_object()? {
            scan.object(&mut self.root, 0)?;
            self.rows += 1;
            if std::mem::take(&mut scan.is_doubled) {
                self.doubled_rows += 1;
                let object = &scan.cursor.bytes[start..scan.cursor.at];
                self.first_doubled.get_or_insert_with(|| object.to_vec());
            }
            scan.cursor.end_of_line()?;
        }
        Some(())
    }

    /// Returns the number of objects in lines.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of lines with an object that has a name twice.
    pub fn doubled_rows(&self) -> u64 {
        self.doubled_rows
    }

    /// Returns the first line with an object that has a name twice.
    pub fn first_doubled(&self) -> Option<&[u8]> {
        self.first_doubled.as_deref()
    }

    /// Returns the columns, in order of their first appearance. One without a type that holds all of
    /// its values as they are written has the type null.
    pub fn schema(&self) -> Schema {
        let columns = self.root.columns();
        let fields =
            columns.map(|(name, kind)| Field::new(name, kind.unwrap_or(DataType::Null), true));
        Schema::new(fields.collect::<Vec<_>>())
    }

    /// Returns the values of columns at some places in whole lines, as they are written: a JSON array
    /// for each column, with null for a line that has none. None if the lines are not those that
    /// were scanned.
    pub fn values(&self, lines: &[u8], places: &[usize]) -> Option<Vec<Vec<u8>>> {
        values(&self.root, lines, places)
    }
}

struct Scan<'a> {
    cursor: Cursor<'a>,
    objects: u64,
    is_doubled: bool,
}

impl Scan<'_> {
    fn value(&mut self, shape: &mut Shape, depth: usize) -> Option<()> {
        match self.cursor.peek()? {
            b'"' => {
                self.cursor.text()?;
                shape.add_text();
            }
            b'{' => self.object(shape, depth)?,
            b'[' => self.list(shape, depth)?,
            b't' => {
                self.cursor.word(b"true")?;
                shape.add_bool();
            }
            b'f' => {
                self.cursor.word(b"false")?;
                shape.add_bool();
            }
            b'n' => self.cursor.word(b"null")?,
            _ => {
                let (number, length) = number(&self.cursor.bytes[self.cursor.at..])?;
                self.cursor.at += length;
                if number == Number::Huge {
                    return None;
                }
                shape.add_number(number);
            }
        }
        Some(())
    }

    fn object(&mut self, shape: &mut Shape, depth: usize) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.cursor.at += 1;
        self.objects += 1;
        let object = self.objects;
        shape.add_object();
        self.cursor.skip_blanks();
        if self.cursor.take(b'}') {
            return Some(());
        }
        let mut guess = 0;
        loop {
            self.cursor.skip_blanks();
            let name = unescaped(self.cursor.text()?);
            let (place, is_doubled) = shape.member(&name, guess, object)?;
            self.is_doubled |= is_doubled;
            guess = place + 1;
            self.cursor.skip_blanks();
            self.cursor.take(b':').then_some(())?;
            self.cursor.skip_blanks();
            self.value(shape.at(place), depth + 1)?;
            self.cursor.skip_blanks();
            if self.cursor.take(b'}') {
                return Some(());
            }
            self.cursor.take(b',').then_some(())?;
        }
    }

    fn list(&mut self, shape: &mut Shape, depth: usize) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.cursor.at += 1;
        let items = shape.add_list();
        self.cursor.skip_blanks();
        if self.cursor.take(b']') {
            return Some(());
        }
        loop {
            self.cursor.skip_blanks();
            self.value(items, depth + 1)?;
            self.cursor.skip_blanks();
            if self.cursor.take(b']') {
                return Some(());
            }
            self.cursor.take(b',').then_some(())?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// The schema of lines without values at risk.
    fn schema_of(lines: &str) -> Option<Schema> {
        let mut found = Lines::default();
        found.add(lines.as_bytes()).then_some(())?;
        let schema = found.schema();
        let is_sure = |field: &Arc<Field>| field.data_type() != &DataType::Null;
        schema.fields().iter().all(is_sure).then_some(schema)
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
    fn columns_with_values_at_risk_have_no_type() {
        for value in [
            "1, \"a\": 2",
            "1, \"\\u0061\": 2",
            "{\"b\": 1, \"b\": 1}",
            "[{\"b\": {\"c\": 1, \"c\": 1}}]",
            "12345678901234567890",
            "9007199254740993}\n{\"a\": 0.5",
            "-0}\n{\"a\": 0.5",
            "0.1000000000000000055",
            "1}\n{\"a\": \"1\"",
            "[]}\n{\"a\": {\"b\": 1}",
            "{}",
        ] {
            let mut found = Lines::default();
            assert!(found.add(format!("{{\"b\": 1, \"a\": {value}, \"c\": 1}}").as_bytes()));
            let schema = found.schema();
            let kinds: Vec<_> = schema
                .fields()
                .iter()
                .map(|field| field.data_type())
                .collect();
            assert_eq!(
                kinds,
                [&DataType::Int64, &DataType::Null, &DataType::Int64],
                "{value}"
            );
        }
    }

    #[test]
    fn values_are_those_that_are_written() {
        let lines = b"{\"a\": 1, \"b\" : [\"}\\\"\", {}] }\n\n{\"b\":1e-400,\"\\u0061\":-0}\r\n\
                      {\"a\":1,\"a\":2}\n{}\n";
        let mut found = Lines::default();
        assert!(found.add(lines));
        let arrays = found.values(lines, &[1, 0]).unwrap();
        let arrays: Vec<_> = arrays
            .iter()
            .map(|array| str::from_utf8(array).unwrap())
            .collect();
        assert_eq!(
            arrays,
            ["[ [\"}\\\"\", {}] ,1e-400,null,null]", "[ 1,-0,2,null]"]
        );
        assert_eq!(found.doubled_rows(), 1);
        assert_eq!(found.first_doubled(), Some(&b"{\"a\":1,\"a\":2}"[..]));
        for others in [
            "1",
            "{\"a\"}",
            "{\"a\": [}",
            "{\"z\": 1}",
            "{\"a\": 1",
            "{\"a\": 1} 1",
        ] {
            assert_eq!(found.values(others.as_bytes(), &[0]), None, "{others}");
        }
    }

    #[test]
    fn other_lines_are_refused() {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(40), "]".repeat(40));
        let wide: Vec<_> = (0..1001).map(|at| format!("\"c{at}\": 1")).collect();
        for lines in [
            "1",
            "[1]",
            "{\"a\": 1} {\"a\": 2}",
            "{\"a\":\n1}",
            "{\"a\": 1,}",
            "{\"a\": truth}",
            "{\"a\": 1",
            "{\"a\": 01}",
            "{\"a\": NaN}",
            "{\"a\": 1e400}",
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
