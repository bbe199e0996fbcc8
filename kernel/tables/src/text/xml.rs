//! Texts as they stand between the tags of XML.
//!
//! Characters that XML 1.0 cannot hold are written as numbers, as S3 does it, and each byte that
//! is no UTF-8 becomes a replacement character.

/// Appends a text, escaped.
pub fn put_escaped(out: &mut Vec<u8>, text: &[u8]) {
    // A loop without branches over all bytes is vectorized.
    if text
        .iter()
        .fold(true, |plain, &byte| plain & is_plain(byte))
    {
        out.extend_from_slice(text);
    } else {
        put_odd(out, text);
    }
}

fn is_plain(byte: u8) -> bool {
    (b' '..0x7f).contains(&byte) & (byte != b'&') & (byte != b'<') & (byte != b'>') & (byte != b'"')
}

fn put_odd(out: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            put_character(out, character);
        }
        for _ in chunk.invalid() {
            put_character(out, char::REPLACEMENT_CHARACTER);
        }
    }
}

fn put_character(out: &mut Vec<u8>, character: char) {
    match character {
        '&' => out.extend_from_slice(b"&amp;"),
        '<' => out.extend_from_slice(b"&lt;"),
        '>' => out.extend_from_slice(b"&gt;"),
        '"' => out.extend_from_slice(b"&quot;"),
        '\0'..' ' | '\x7f' | '\u{fffe}' | '\u{ffff}' => {
            out.extend_from_slice(format!("&#x{:X};", u32::from(character)).as_bytes());
        }
        _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (text, expected) in [
            (&b"plain/~'"[..], "plain/~'"),
            (b"a&b<c>\"", "a&amp;b&lt;c&gt;&quot;"),
            (b"\x00\t\r\x1f\x7f", "&#x0;&#x9;&#xD;&#x1F;&#x7F;"),
            ("ä€😀\u{ffff}".as_bytes(), "ä€😀&#xFFFF;"),
            (b"a\xe2\x82b\xff", "a\u{fffd}\u{fffd}b\u{fffd}"),
        ] {
            let mut out = Vec::new();
            put_escaped(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
