//! Texts as JSON writes them.

use std::borrow::Cow;

/// Returns the length of the text between quotation marks, of which the first has been read. None
/// if it does not end, or is no valid text.
pub fn text(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += escape(&bytes[at..])?.1,
            0..=0x1f => return None,
            _ => at += 1,
        }
    }
}

/// Returns a valid text without its escapes.
pub fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match escape(&text[at..]) {
            Some((letter, length)) if byte == b'\\' => {
                plain.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                at += length;
            }
            _ => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(plain)
}

/// Returns the character of the escape that bytes begin with, and its length. None for others, and
/// for half of a pair of surrogates.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let letter = match bytes.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(bytes),
        _ => return None,
    };
    Some((letter, 2))
}

fn unicode(bytes: &[u8]) -> Option<(char, usize)> {
    const LENGTH: usize = 6;
    let first = unit(bytes)?;
    if let Some(letter) = char::from_u32(u32::from(first)) {
        return Some((letter, LENGTH));
    }
    let second = unit(bytes.get(LENGTH..)?)?;
    let letter = char::decode_utf16([first, second]).next()?.ok()?;
    Some((letter, 2 * LENGTH))
}

/// Returns the number of `\u00e9`.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.get(..6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |number, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(number << 4 | digit as u16)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(written: &str) -> Option<String> {
        let length = text(written.as_bytes())?;
        let plain = unescaped(&written.as_bytes()[..length]).into_owned();
        Some(String::from_utf8(plain).unwrap())
    }

    #[test]
    fn texts_end_at_their_quotation_mark() {
        for (written, expected) in [
            ("\"", ""),
            ("a\"b", "a"),
            (r#"\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            ("\\u00e9\\u00E9\u{e9}\"", "\u{e9}\u{e9}\u{e9}"),
            (r#"\ud83d\ude00\u0000""#, "\u{1f600}\0"),
        ] {
            assert_eq!(shown(written).as_deref(), Some(expected));
        }
    }

    #[test]
    fn others_are_no_texts() {
        for written in [
            "a",
            "\u{1}\"",
            r#"\q""#,
            r#"\u12"#,
            r#"\u12g4""#,
            r#"\ud83d""#,
            r#"\ud83d\n""#,
            r#"\ude00""#,
            r#"\ud83d\ud83d""#,
            "\\",
        ] {
            assert_eq!(shown(written), None, "{written}");
        }
    }
}
