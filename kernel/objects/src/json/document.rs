//! A JSON document as JSON lines.

use super::cursor::Cursor;

/// Returns the objects of a document, which is an array of objects or one object, with a line for
/// each. Only what is between the objects is examined: the document is valid if the lines are. None
/// for other documents.
pub fn document_lines(document: &[u8]) -> Option<Vec<u8>> {
    let mut lines = Vec::with_capacity(document.len() + 1);
    let mut cursor = Cursor::new(document);
    skip_space(&mut cursor);
    if !cursor.take(b'[') {
        push_object(&mut cursor, &mut lines)?;
    } else {
        skip_space(&mut cursor);
        if !cursor.take(b']') {
            loop {
                push_object(&mut cursor, &mut lines)?;
                skip_space(&mut cursor);
                if cursor.take(b']') {
                    break;
                }
                cursor.take(b',').then_some(())?;
                skip_space(&mut cursor);
            }
        }
    }
    skip_space(&mut cursor);
    cursor.peek().is_none().then_some(lines)
}

fn push_object(cursor: &mut Cursor<'_>, lines: &mut Vec<u8>) -> Option<()> {
    let start = cursor.at;
    (cursor.peek() == Some(b'{')).then_some(())?;
    let mut depth = 0usize;
    loop {
        match cursor.peek()? {
            b'"' => {
                cursor.text()?;
                continue;
            }
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        cursor.at += 1;
        if depth == 0 {
            break;
        }
    }
    // line ends are between texts, where they are blanks
    let object = cursor.bytes[start..cursor.at].iter();
    lines.extend(object.map(|&byte| if byte == b'\n' { b' ' } else { byte }));
    lines.push(b'\n');
    Some(())
}

fn skip_space(cursor: &mut Cursor<'_>) {
    cursor.skip_blanks();
    while cursor.take(b'\n') {
        cursor.skip_blanks();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(document: &str) -> Option<String> {
        document_lines(document.as_bytes()).map(|lines| String::from_utf8(lines).unwrap())
    }

    #[test]
    fn objects_are_lines() {
        for (document, expected) in [
            ("[]", ""),
            (" [\n]\r\n", ""),
            ("{}", "{}\n"),
            ("{\n\"a\":\n1\n}\n", "{ \"a\": 1 }\n"),
            (
                "[{\"a\": {}},\n {\"}\\\"\": [{}]}\n]",
                "{\"a\": {}}\n{\"}\\\"\": [{}]}\n",
            ),
        ] {
            assert_eq!(lines_of(document).as_deref(), Some(expected), "{document}");
        }
    }

    #[test]
    fn others_are_no_lines_of_objects() {
        for document in [
            "",
            "1",
            "[1]",
            "[[]]",
            "[{},]",
            "[,{}]",
            "[{} {}]",
            "{} {}",
            "[{}",
            "[{}]]",
            "{",
            "{\"a\nb\": 1}",
            "[{\"a\": \"\n\"}]",
            "[{}],",
        ] {
            assert_eq!(lines_of(document), None, "{document}");
        }
    }
}
