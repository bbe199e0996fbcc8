//! Record batches that are made one after another, as a stream that Arrow reads.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::error::{Error, Result};

/// Makes record batches of a schema.
pub trait Batches {
    /// Returns the schema of the batches.
    fn schema(&self) -> SchemaRef;

    /// Returns the next batch, None at the end.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>>;
}

/// A stream of batches, which ends after an error.
pub struct BatchStream<B> {
    batches: B,
    has_failed: bool,
}

impl<B: Batches> BatchStream<B> {
    /// Returns the stream of some batches.
    pub fn new(batches: B) -> BatchStream<B> {
        BatchStream {
            batches,
            has_failed: false,
        }
    }
}

impl<B: Batches> Iterator for BatchStream<B> {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let batch = self.batches.next_batch();
        self.has_failed = batch.is_err();
        batch
            .map_err(|error| ArrowError::ExternalError(Box::new(error)))
            .transpose()
    }
}

impl<B: Batches> RecordBatchReader for BatchStream<B> {
    fn schema(&self) -> SchemaRef {
        self.batches.schema()
    }
}

/// Returns a batch of so many rows, also of no columns.
pub(super) fn record_batch(
    schema: SchemaRef,
    arrays: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(invalid)
}

pub(super) fn invalid(error: ArrowError) -> Error {
    Error::Invalid(error.to_string())
}
