//! The type of a column, of the values that were seen in it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use super::numbers::Number;

/// Objects with more names are for a reader that shows them as text.
const MAX_NAMES: usize = 1000;

/// Lines with more names are shown as text, too.
const MAX_COLUMNS: usize = 10_000;

const BOOL: u8 = 1;
const WHOLE: u8 = 2;
const DOUBLE: u8 = 4;
const TEXT: u8 = 8;
const LIST: u8 = 16;
const OBJECT: u8 = 32;
/// A value that no type of a fast reader holds.
const OTHER: u8 = 64;

/// The values of one column, or of one field of objects. Null has any type.
#[derive(Default)]
pub struct Shape {
    is_root: bool,
    kinds: u8,
    has_large: bool,
    has_minus_zero: bool,
    items: Option<Box<Shape>>,
    members: Vec<Member>,
    places: HashMap<Box<[u8]>, usize>,
}

struct Member {
    name: Box<[u8]>,
    shape: Shape,
    /// The number of the last object that had it.
    last: u64,
}

impl Shape {
    /// The shape of lines.
    pub fn root() -> Shape {
        Shape {
            is_root: true,
            ..Shape::default()
        }
    }

    /// Adds a `true` or `false`.
    pub fn add_bool(&mut self) {
        self.kinds |= BOOL;
    }

    /// Adds a string.
    pub fn add_text(&mut self) {
        self.kinds |= TEXT;
    }

    /// Adds a number.
    pub fn add_number(&mut self, number: Number) {
        match number {
            Number::Double => self.kinds |= DOUBLE,
            Number::Other | Number::Huge => self.kinds |= OTHER,
            Number::MinusZero => {
                self.kinds |= WHOLE;
                self.has_minus_zero = true;
            }
            Number::Whole { is_large } => {
                self.kinds |= WHOLE;
                self.has_large |= is_large;
            }
        }
    }

    /// Adds a list, and returns the shape of its items.
    pub fn add_list(&mut self) -> &mut Shape {
        self.kinds |= LIST;
        self.items.get_or_insert_default()
    }

    /// Adds an object; what it has is added by itself.
    pub fn add_object(&mut self) {
        self.kinds |= OBJECT;
    }

    /// Returns the place of the member of this name of the object with a number, and whether the
    /// object has the name twice: the values are at risk then, since only the last one counts.
    /// `guess` is the place where it probably is. None if objects have too many names.
    pub fn member(&mut self, name: &[u8], guess: usize, object: u64) -> Option<(usize, bool)> {
        let place = match self.find(name, guess) {
            Some(place) => place,
            None => self.add_member(name)?,
        };
        let member = &mut self.members[place];
        let is_doubled = member.last == object;
        member.last = object;
        if is_doubled {
            member.shape.kinds |= OTHER;
        }
        Some((place, is_doubled))
    }

    /// Returns the shape of the member at a place.
    pub fn at(&mut self, place: usize) -> &mut Shape {
        &mut self.members[place].shape
    }

    /// Returns the place of the member with a name, which is probably at `guess`.
    pub fn find(&self, name: &[u8], guess: usize) -> Option<usize> {
        match self.members.get(guess) {
            Some(member) if *member.name == *name => Some(guess),
            _ => self.places.get(name).copied(),
        }
    }

    fn add_member(&mut self, name: &[u8]) -> Option<usize> {
        let place = self.members.len();
        let most = if self.is_root { MAX_COLUMNS } else { MAX_NAMES };
        if place == most {
            return None;
        }
        self.places.insert(name.into(), place);
        self.members.push(Member {
            name: name.into(),
            shape: Shape::default(),
            last: 0,
        });
        Some(place)
    }

    /// Returns the names of the members with their types, None instead of a type that does not hold
    /// all values.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Option<DataType>)> {
        self.members.iter().map(|member| {
            let name = std::str::from_utf8(&member.name).unwrap_or_default(); // it always is
            (name, member.shape.data_type())
        })
    }

    /// Returns the fields of the objects, None if a type does not hold all values.
    fn fields(&self) -> Option<Fields> {
        self.columns()
            .map(|(name, kind)| Some(Field::new(name, kind?, true)))
            .collect()
    }

    fn data_type(&self) -> Option<DataType> {
        Some(match self.kinds {
            0 | TEXT => DataType::Utf8,
            BOOL => DataType::Boolean,
            WHOLE => DataType::Int64,
            DOUBLE => DataType::Float64,
            kinds if kinds == WHOLE | DOUBLE => {
                if self.has_large || self.has_minus_zero {
                    return None;
                }
                DataType::Float64
            }
            LIST => {
                let item = self.items.as_ref()?.data_type()?;
                DataType::List(Arc::new(Field::new("item", item, true)))
            }
            OBJECT if !self.members.is_empty() => DataType::Struct(self.fields()?),
            _ => return None,
        })
    }
}
