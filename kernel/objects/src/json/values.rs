//! Values of some columns of JSON lines, as they are written.

use super::cursor::Cursor;
use super::shape::Shape;
use super::text::unescaped;

/// Returns a JSON array of the values of each of some columns, with null for a line that has none,
/// and the last value for one that has several. None for lines that are no objects.
pub fn values(root: &Shape, lines: &[u8], places: &[usize]) -> Option<Vec<Vec<u8>>> {
    let mut wanted = vec![None; places.iter().max().map_or(0, |last| last + 1)];
    for (at, &place) in places.iter().enumerate() {
        wanted[place] = Some(at);
    }
    let mut arrays = vec![b"[".to_vec(); places.len()];
    let mut cursor = Cursor::new(lines);
    while cursor.next_object()?.is_some() {
        let mut row: Vec<&[u8]> = vec![b"null"; places.len()];
        cursor.at += 1;
        members(&mut cursor, root, |place, value| {
            if let Some(&Some(at)) = wanted.get(place) {
                row[at] = value;
            }
        })?;
        cursor.end_of_line()?;
        for (array, value) in arrays.iter_mut().zip(row) {
            if array.len() > 1 {
                array.push(b',');
            }
            array.extend_from_slice(value);
        }
    }
    arrays.iter_mut().for_each(|array| array.push(b']'));
    Some(arrays)
}

/// Passes the members of an object whose bracket has been read.
fn members<'a>(
    cursor: &mut Cursor<'a>,
    root: &Shape,
    mut pass: impl FnMut(usize, &'a [u8]),
) -> Option<()> {
    cursor.skip_blanks();
    if cursor.take(b'}') {
        return Some(());
    }
    let mut guess = 0;
    loop {
        cursor.skip_blanks();
        let place = root.find(&unescaped(cursor.text()?), guess)?;
        guess = place + 1;
        cursor.skip_blanks();
        cursor.take(b':').then_some(())?;
        let start = cursor.at;
        cursor.skip_value()?;
        pass(place, &cursor.bytes[start..cursor.at]);
        if cursor.take(b'}') {
            return Some(());
        }
        cursor.take(b',').then_some(())?;
    }
}
