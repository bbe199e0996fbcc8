//! Conditions of searches, as Python gives them.

use anabranch_tables::arrow::search::{MetadataCondition, ValueCondition};
use anabranch_tables::error::{Error, Result};

/// Returns a condition on user metadata of a key, an operator and values.
pub fn metadata_condition(
    (key, operator, mut values): (String, String, Vec<String>),
) -> Result<MetadataCondition> {
    let value = match (operator.as_str(), values.len()) {
        ("exists", 0) => ValueCondition::Any,
        ("in", _) => ValueCondition::OneOf(values),
        ("prefix", 1) => ValueCondition::Prefix(values.remove(0)),
        ("suffix", 1) => ValueCondition::Suffix(values.remove(0)),
        ("contains", 1) => ValueCondition::Contains(values.remove(0)),
        _ => {
            let reason = format!("{operator:?} of {} values is no condition", values.len());
            return Err(Error::Invalid(reason));
        }
    };
    Ok(MetadataCondition { key, value })
}
