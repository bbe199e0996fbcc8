//! The first line of a request: method, target and version (RFC 9112, section 3).

use super::fault::Fault;

const MAX_METHOD_BYTES: usize = 32;

/// The first line of a head.
#[derive(Debug)]
pub struct RequestLine<'a> {
    /// The method, as it was sent.
    pub method: &'a str,
    /// The host of a target in absolute form.
    pub authority: Option<&'a str>,
    /// The path, as it was sent.
    pub path: &'a str,
    /// What follows the question mark.
    pub query: &'a str,
    /// Whether the version is HTTP/1.0, and not 1.1.
    pub is_1_0: bool,
}

/// Checks the first line of a head, before the rest is there.
pub fn check_request_line(line: &[u8]) -> Result<(), Fault> {
    parse_request_line(line).map(|_| ())
}

/// Returns the parts of the first line of a head.
pub fn parse_request_line(line: &[u8]) -> Result<RequestLine<'_>, Fault> {
    let malformed = Fault::bad("malformed request line");
    if !line
        .iter()
        .all(|byte| byte.is_ascii_graphic() || *byte == b' ')
    {
        return Err(malformed);
    }
    let line = std::str::from_utf8(line).map_err(|_| malformed)?;
    let mut parts = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(malformed);
    };
    if method.is_empty() || method.len() > MAX_METHOD_BYTES || !method.bytes().all(is_token_byte) {
        return Err(malformed);
    }
    let is_1_0 = match version.as_bytes() {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            return Err(Fault {
                status: 505,
                reason: "HTTP version not supported",
            });
        }
        _ => return Err(malformed),
    };
    let (authority, target) = split_authority(target)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = if path.is_empty() && authority.is_some() {
        "/"
    } else {
        path
    };
    if !path.starts_with('/') || target.contains('#') {
        return Err(Fault::bad("invalid request target"));
    }
    Ok(RequestLine {
        method,
        authority,
        path,
        query,
        is_1_0,
    })
}

/// Returns the authority of a target in absolute form, and what follows it.
fn split_authority(target: &str) -> Result<(Option<&str>, &str), Fault> {
    let scheme = ["http://", "https://"].into_iter().find(|scheme| {
        target
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    let Some(scheme) = scheme else {
        return Ok((None, target));
    };
    let rest = &target[scheme.len()..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    if authority.is_empty() || !is_valid_host(authority.as_bytes()) {
        return Err(Fault::bad("invalid request target"));
    }
    Ok((Some(authority), target))
}

/// Returns whether the value of a `Host` header is a host, with or without a port. An empty one is
/// allowed (RFC 9112, 3.2).
pub fn is_valid_host(host: &[u8]) -> bool {
    host.iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=:[]".contains(byte))
}

/// Returns whether a byte may stand in a method or in a header's name (RFC 9110, 5.6.2).
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
