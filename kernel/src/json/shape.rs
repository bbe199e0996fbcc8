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

    pub fn add_bool(&mut self) {
        self.kinds |= BOOL;
    }

    pub fn add_text(&mut self) {
        self.kinds |= TEXT;
    }

    pub fn add_number(&mut self, number: Number) {
        match number {
            Number::Double => self.kinds |= DOUBLE,
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

    pub fn add_object(&mut self) {
        self.kinds |= OBJECT;
    }

    /// Returns the member of this name of the object with a number, and its place. `guess` is the
    /// place where it probably is. None if the object has the name twice, or objects have too many.
    pub fn member(
        &mut self,
        name: &[u8],
        guess: usize,
        object: u64,
    ) -> Option<(usize, &mut Shape)> {
        let place = match self.members.get(guess) {
            Some(member) if *member.name == *name => guess,
            _ => self.place(name)?,
        };
        let member = &mut self.members[place];
        if member.last == object {
            return None;
        }
        member.last = object;
        Some((place, &mut member.shape))
    }

    fn place(&mut self, name: &[u8]) -> Option<usize> {
        if let Some(&place) = self.places.get(name) {
            return Some(place);
        }
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

    /// Returns the fields of the objects, None if a type does not hold all values.
    pub fn fields(&self) -> Option<Fields> {
        let fields = self.members.iter().map(|member| {
            let name = std::str::from_utf8(&member.name).ok()?;
            Some(Field::new(name, member.shape.data_type()?, true))
        });
        fields.collect::<Option<Vec<_>>>().map(Fields::from)
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
