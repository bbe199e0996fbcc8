//! Messages of HTTP/1.1 that are there whole: plain requests, read in one go, and answers, written
//! in one piece. Whatever is not plain is for a server's own parser.

mod request;
mod response;

pub use request::{Request, whole_request};
pub use response::put_header;
