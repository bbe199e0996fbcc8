//! HTTP/1.1 messages: parsers of complete plain requests, of heads and of chunked bodies, and a
//! writer of complete responses.

#![warn(missing_docs)]

mod chunks;
mod fault;
mod head;
mod head_reader;
mod request;
mod request_line;
mod response;

pub use chunks::ChunkReader;
pub use fault::Fault;
pub use head::{Body, Head, parse_head};
pub use head_reader::HeadReader;
pub use request::{Request, whole_request};
pub use response::put_header;
