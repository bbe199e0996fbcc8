//! A fast parser for complete requests without unusual headers.

use httparse::{EMPTY_HEADER, Header, Status};

use super::head::{MAX_HEAD_BYTES, parse_length};
use super::request_line::is_valid_host;

/// The maximum number of headers of a plain request.
const MOST_HEADERS: usize = 48;

/// The methods of plain requests.
const METHODS: [&str; 5] = ["GET", "HEAD", "PUT", "POST", "DELETE"];

/// A request, borrowed from the received bytes.
#[derive(Debug)]
pub struct Request<'a> {
    /// The method, as it was sent.
    pub method: &'a str,
    /// The path, as it was sent.
    pub path: &'a str,
    /// What follows the question mark.
    pub query: &'a str,
    /// The whole body.
    pub body: &'a [u8],
}

/// Parses `data` as exactly one request, and calls `put_header` with each of its headers. Returns
/// None for anything else: an incomplete request, several requests, or malformed bytes; and for a
/// request that affects the connection or the transfer of its body: another version, chunks, an
/// `Expect`, `Connection` or `Upgrade` header, a head that is too long, or not exactly one host.
///
/// Every other parser agrees on such a request and its end: lines end with CR LF, and there is one
/// Content-Length.
pub fn whole_request<'a>(
    data: &'a [u8],
    mut put_header: impl FnMut(&'a str, &'a [u8]),
) -> Option<Request<'a>> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let Ok(Status::Complete(end)) = request.parse(data) else {
        return None;
    };
    let (head, body) = data.split_at(end);
    let (method, target) = (request.method?, request.path?);
    if head.len() > MAX_HEAD_BYTES
        || request.version != Some(1)
        || !METHODS.contains(&method)
        || head[0] != method.as_bytes()[0]
        || !target.starts_with('/')
        || !target
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#')
        || has_bare_line_end(head)
    {
        return None;
    }
    let (mut length, mut has_host) = (None, false);
    for header in request.headers.iter() {
        if is_out_of_the_ordinary(header) {
            return None;
        }
        if header.name.eq_ignore_ascii_case("host") {
            if has_host || !is_valid_host(header.value) {
                return None;
            }
            has_host = true;
        }
        if header.name.eq_ignore_ascii_case("content-length") {
            if length.is_some() {
                return None;
            }
            length = Some(parse_length(header.value)?);
        }
    }
    if !has_host || length.unwrap_or(0) != body.len() as u64 {
        return None;
    }
    for header in request.headers.iter() {
        put_header(header.name, header.value);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Some(Request {
        method,
        path,
        query,
        body,
    })
}

fn is_out_of_the_ordinary(header: &Header<'_>) -> bool {
    let named = |name: &str| header.name.eq_ignore_ascii_case(name);
    match header.name.len() {
        6 => named("expect"),
        7 => named("upgrade"),
        10 => named("connection") && !header.value.eq_ignore_ascii_case(b"keep-alive"),
        17 => named("transfer-encoding"),
        _ => false,
    }
}

fn has_bare_line_end(head: &[u8]) -> bool {
    let mut before = b' ';
    head.iter().any(|&byte| {
        let bare = byte == b'\n' && before != b'\r';
        before = byte;
        bare
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &str) -> Option<(String, Vec<String>)> {
        let mut headers = Vec::new();
        let request = whole_request(data.as_bytes(), |name, value| {
            headers.push(format!("{name}={}", String::from_utf8_lossy(value)));
        })?;
        let Request {
            method,
            path,
            query,
            body,
        } = request;
        let body = String::from_utf8_lossy(body);
        Some((format!("{method} {path} {query} {body}"), headers))
    }

    #[test]
    fn a_plain_request() {
        let (request, headers) =
            read("PUT /a%20b?c=d?e HTTP/1.1\r\nHost: x\r\ncontent-length:  2 \r\n\r\nhi").unwrap();
        assert_eq!(request, "PUT /a%20b c=d?e hi");
        assert_eq!(headers, ["Host=x", "content-length=2"]);
        let (request, _) =
            read("GET / HTTP/1.1\r\nHost: x\r\nConnection: Keep-Alive\r\n\r\n").unwrap();
        assert_eq!(request, "GET /  ");
    }

    #[test]
    fn every_piece_of_one_is_for_the_other_parser() {
        let whole = "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi";
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]), None, "{end}");
        }
        assert!(read(whole).is_some());
        assert_eq!(read(&format!("{whole}G")), None);
    }

    #[test]
    fn what_is_not_plain() {
        for line in [
            "Expect: 100-continue",
            "UPGRADE: h2c",
            "Connection: close",
            "Connection: keep-alive, Upgrade",
            "Transfer-Encoding: chunked",
            "Content-Length: +0",
            "Content-Length: 0\r\nContent-Length: 0",
            "Content-Length: ",
            "Content-Length: 0000000000000000000",
            "Host: y",
            "Content-Length : 0",
            "a: b\r\n c",
            "a: b\nc: d",
        ] {
            assert_eq!(
                read(&format!("GET / HTTP/1.1\r\nHost: x\r\n{line}\r\n\r\n")),
                None,
                "{line}"
            );
        }
        let long = format!("a: {}", "b".repeat(MAX_HEAD_BYTES));
        assert_eq!(
            read(&format!("GET / HTTP/1.1\r\nHost: x\r\n{long}\r\n\r\n")),
            None
        );
        for host in ["a: b", "Host: a b", "Host: a/b", "Host: a@b"] {
            assert_eq!(read(&format!("GET / HTTP/1.1\r\n{host}\r\n\r\n")), None);
        }
        for first in [
            "GET / HTTP/1.0",
            "GET http://x/ HTTP/1.1",
            "CONNECT x:80 HTTP/1.1",
            "OPTIONS * HTTP/1.1",
            "GET /a#b HTTP/1.1",
            "GET /\u{e9} HTTP/1.1",
            "GET  / HTTP/1.1",
            "\r\nGET / HTTP/1.1",
            "get / HTTP/1.1",
            "BREW / HTTP/1.1",
        ] {
            assert_eq!(
                read(&format!("{first}\r\nHost: x\r\n\r\n")),
                None,
                "{first}"
            );
        }
    }
}
