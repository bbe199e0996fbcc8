//! A strict parser of request heads: it rejects ambiguous requests, because a proxy in front of the
//! server could interpret them differently (RFC 9112, sections 3, 5, 6, 11).

use super::fault::Fault;
use super::request_line::{is_token_byte, is_valid_host, parse_request_line};

/// The most bytes of a head, its last empty line included.
pub const MAX_HEAD_BYTES: usize = 64 << 10;

/// The most header lines of a head.
pub const MAX_HEADER_LINES: usize = 200;

/// The most digits of a `Content-Length`.
const MAX_LENGTH_DIGITS: usize = 18;

/// How the body of a request is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// It has so many bytes.
    Length(u64),
    /// It comes in chunks.
    Chunked,
}

/// A head, as slices of the bytes that were received.
#[derive(Debug)]
pub struct Head<'a> {
    /// The method, as it was sent.
    pub method: &'a str,
    /// The path, as it was sent.
    pub path: &'a str,
    /// What follows the question mark.
    pub query: &'a str,
    /// Whether the version is HTTP/1.0, else it is HTTP/1.1.
    pub is_1_0: bool,
    /// Names as they were sent, values without blanks around them.
    pub headers: Vec<(&'a str, &'a [u8])>,
    /// How long the body is.
    pub body: Body,
    /// Whether the connection persists after the response.
    pub keep_alive: bool,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

/// Returns the head that `data` is, from its first byte to its last empty line.
pub fn parse_head(data: &[u8]) -> Result<Head<'_>, Fault> {
    if data.len() > MAX_HEAD_BYTES {
        return Err(Fault::head_too_large("request head too large"));
    }
    let text = data
        .strip_suffix(b"\r\n\r\n")
        .ok_or(Fault::bad("request head has no end"))?;
    let mut lines = lines(text);
    let line = parse_request_line(lines.next().unwrap_or_default())?;
    let mut headers = Vec::with_capacity(16);
    for line in lines {
        if headers.len() == MAX_HEADER_LINES {
            return Err(Fault::head_too_large("too many header lines"));
        }
        headers.push(parse_header(line)?);
    }
    let mut head = Head {
        method: line.method,
        path: line.path,
        query: line.query,
        is_1_0: line.is_1_0,
        headers,
        body: Body::Length(0),
        keep_alive: !line.is_1_0,
        expects_continue: false,
    };
    head.resolve_host(line.authority)?;
    head.resolve_connection()?;
    Ok(head)
}

impl<'a> Head<'a> {
    /// Checks that the head names one host. The authority of an absolute target takes precedence
    /// over the header (RFC 9112, 3.2.2).
    fn resolve_host(&mut self, authority: Option<&'a str>) -> Result<(), Fault> {
        let mut hosts = self.headers.iter_mut().filter(|(name, _)| is_host(name));
        let (first, second) = (hosts.next(), hosts.next());
        if second.is_some() {
            return Err(Fault::bad("more than one Host header"));
        }
        match (first, authority) {
            (None, _) if !self.is_1_0 => return Err(Fault::bad("no Host header")),
            (Some((_, host)), _) if !is_valid_host(host) => {
                return Err(Fault::bad("invalid Host header"));
            }
            (Some((_, host)), Some(authority)) => *host = authority.as_bytes(),
            (None, Some(authority)) => self.headers.push(("host", authority.as_bytes())),
            _ => {}
        }
        Ok(())
    }

    /// Reads the headers that say where the body ends and whether the connection persists.
    /// Upgrades to other protocols are not supported, so their headers are ignored (RFC 9110, 7.8).
    fn resolve_connection(&mut self) -> Result<(), Fault> {
        let (mut length, mut chunked) = (None, false);
        for &(name, value) in &self.headers {
            if name.eq_ignore_ascii_case("content-length") {
                if length.is_some() {
                    return Err(Fault::bad("more than one Content-Length"));
                }
                length = Some(parse_length(value).ok_or(Fault::bad("invalid Content-Length"))?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                if self.is_1_0 || chunked {
                    return Err(Fault::bad("invalid Transfer-Encoding"));
                }
                if !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Fault {
                        status: 501,
                        reason: "transfer coding not supported",
                    });
                }
                chunked = true;
            } else if name.eq_ignore_ascii_case("connection") {
                self.keep_alive &= !has_token(value, b"close");
            } else if name.eq_ignore_ascii_case("expect") && !self.is_1_0 && !value.is_empty() {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(Fault {
                        status: 417,
                        reason: "expectation not supported",
                    });
                }
                self.expects_continue = true;
            }
        }
        self.body = match (chunked, length) {
            (true, Some(_)) => {
                return Err(Fault::bad("Content-Length beside Transfer-Encoding"));
            }
            (true, None) => Body::Chunked,
            (false, length) => Body::Length(length.unwrap_or(0)),
        };
        Ok(())
    }
}

fn parse_header(line: &[u8]) -> Result<(&str, &[u8]), Fault> {
    let malformed = Fault::bad("malformed header line");
    let colon = line
        .iter()
        .position(|&byte| byte == b':')
        .ok_or(malformed)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    // a line that begins with a blank is not a folded one but a name without its first letter
    if name.is_empty() || !name.iter().copied().all(is_token_byte) {
        return Err(malformed);
    }
    if value
        .iter()
        .any(|&byte| byte.is_ascii_control() && byte != b'\t')
    {
        return Err(malformed);
    }
    let name = std::str::from_utf8(name).map_err(|_| malformed)?;
    Ok((name, value.trim_ascii()))
}

/// Iterates over the lines of a head without its end. A line end that is not CR LF stays in its
/// line, where nothing allows it.
fn lines(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut ended = false;
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        match text.windows(2).position(|pair| pair == b"\r\n") {
            Some(end) => {
                let line = &text[..end];
                text = &text[end + 2..];
                Some(line)
            }
            None => {
                ended = true;
                Some(text)
            }
        }
    })
}

/// Returns the length of a body; None for what is not one.
pub fn parse_length(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    if !is_number || value.len() > MAX_LENGTH_DIGITS {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn is_host(name: &str) -> bool {
    name.eq_ignore_ascii_case("host")
}

fn has_token(value: &[u8], token: &[u8]) -> bool {
    value
        .split(|&byte| byte == b',')
        .any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> u16 {
        match parse_head(head.as_bytes()) {
            Ok(_) => 200,
            Err(fault) => fault.status,
        }
    }

    #[test]
    fn framing_and_persistence_are_read() {
        let head = parse_head(
            b"PUT /a%20b?c=d?e HTTP/1.1\r\nHost:  sea \r\nContent-Length: 02\r\n\
              Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nExpect: 100-Continue\r\n\r\n",
        )
        .unwrap();
        assert_eq!(
            (head.method, head.path, head.query),
            ("PUT", "/a%20b", "c=d?e")
        );
        assert_eq!(head.headers[0], ("Host", b"sea".as_slice()));
        assert_eq!(head.body, Body::Length(2));
        assert!(head.keep_alive && head.expects_continue && !head.is_1_0);
        let head = parse_head(
            b"GET / HTTP/1.1\r\nhost: sea\r\ntransfer-encoding: Chunked\r\n\
              connection: a\r\nconnection: b , CLOSE\r\n\r\n",
        )
        .unwrap();
        assert_eq!((head.body, head.keep_alive), (Body::Chunked, false));
    }

    #[test]
    fn an_absolute_target_names_the_host() {
        let head = parse_head(b"GET http://lake:80?a HTTP/1.1\r\nHost: sea\r\n\r\n").unwrap();
        assert_eq!((head.path, head.query), ("/", "a"));
        assert_eq!(head.headers, [("Host", b"lake:80".as_slice())]);
        let head = parse_head(b"GET HTTP://lake/b HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!((head.path, head.headers[0].1), ("/b", b"lake".as_slice()));
        assert!(head.is_1_0 && !head.keep_alive);
    }

    #[test]
    fn what_is_ambiguous_is_refused() {
        for (lines, expected) in [
            ("Host: a", 200),
            ("Host:", 200),
            ("Host: [::1]:80", 200),
            ("a: b", 400),
            ("Host: a\r\nHost: a", 400),
            ("Host: a b", 400),
            ("Host: a, b", 400),
            ("Host: a/b", 400),
            ("Host: a@b", 400),
            ("Host : a", 400),
            ("Host: a\r\n folded", 400),
            ("Host: a\nb: c", 400),
            ("Host: a\rb: c", 400),
            ("Host: a\r\nb: \0", 400),
            ("Host: a\r\n: b", 400),
            ("Host: a\r\nb", 400),
            ("Host: a\r\nb\u{e9}: c", 400),
            ("Host: a\r\nb: \u{e9}", 200),
            ("Host: a\r\nContent-Length: 1\r\nContent-Length: 1", 400),
            ("Host: a\r\nContent-Length: 1, 1", 400),
            ("Host: a\r\nContent-Length: +1", 400),
            ("Host: a\r\nContent-Length:", 400),
            ("Host: a\r\nContent-Length: 1234567890123456789", 400),
            (
                "Host: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked",
                400,
            ),
            (
                "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                400,
            ),
            ("Host: a\r\nTransfer-Encoding: gzip, chunked", 501),
            ("Host: a\r\nTransfer-Encoding: \u{b}chunked", 400),
            ("Host: a\r\nExpect: a-miracle", 417),
            ("Host: a\r\nExpect:", 200),
            ("Host: a\r\nExpect: \t ", 200),
            ("Host: a\r\nExpect: \r\nExpect: a-miracle", 417),
        ] {
            let head = format!("GET / HTTP/1.1\r\n{lines}\r\n\r\n");
            assert_eq!(status(&head), expected, "{lines:?}");
        }
        for (line, expected) in [
            ("GET /", 400),
            ("GET / HTTP/1.1 ", 400),
            ("GET  / HTTP/1.1", 400),
            ("GET /a b HTTP/1.1", 400),
            ("GET /a#b HTTP/1.1", 400),
            ("GET /\u{e9} HTTP/1.1", 400),
            ("GET /\t HTTP/1.1", 400),
            ("GET a HTTP/1.1", 400),
            ("OPTIONS * HTTP/1.1", 400),
            ("CONNECT a:80 HTTP/1.1", 400),
            ("GET http:///a HTTP/1.1", 400),
            ("GET http://a@b/ HTTP/1.1", 400),
            ("G(T / HTTP/1.1", 400),
            ("GET / http/1.1", 400),
            ("GET / HTTP/0.9", 505),
            ("PRI / HTTP/2.0", 505),
            ("BREW / HTTP/1.1", 200),
        ] {
            assert_eq!(
                status(&format!("{line}\r\nHost: a\r\n\r\n")),
                expected,
                "{line:?}"
            );
        }
    }

    #[test]
    fn a_head_has_limits() {
        let lines = |count| "a: b\r\n".repeat(count - 1);
        let head = |count| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", lines(count));
        assert_eq!(status(&head(MAX_HEADER_LINES)), 200);
        assert_eq!(status(&head(MAX_HEADER_LINES + 1)), 431);
        let start = "GET / HTTP/1.1\r\nHost: a\r\nb: ";
        let long = |size: usize| format!("{start}{}\r\n\r\n", "c".repeat(size - start.len() - 4));
        assert_eq!(status(&long(MAX_HEAD_BYTES)), 200);
        assert_eq!(status(&long(MAX_HEAD_BYTES + 1)), 431);
    }
}
