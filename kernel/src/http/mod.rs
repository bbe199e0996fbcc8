//! Messages of HTTP/1.1: plain requests, read in one go; heads and chunked bodies that come in
//! pieces; answers, written in one piece.

mod chunks;
mod fault;
mod head;
mod head_reader;
mod request;
mod response;

pub use chunks::ChunkReader;
pub use fault::Fault;
pub use head::{Body, Head, parse_head};
pub use head_reader::HeadReader;
pub use request::{Request, whole_request};
pub use response::put_header;
