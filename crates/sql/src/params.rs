//! Values for the placeholders of a statement.

use std::collections::HashMap;

use datafusion::common::{ParamValues, ScalarValue};

/// Values for `?` and `$1`, by place, or for `$name`, by name.
///
/// ```
/// use timestrata_sql::Params;
///
/// let by_place = Params::from(vec![7_i64.into(), "EWR".into()]);
/// let by_name = Params::named([("origin", "EWR".into())]);
/// assert!(!by_place.is_empty() && !by_name.is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Params {
    by_place: Vec<ScalarValue>,
    by_name: HashMap<String, ScalarValue>,
}

impl Params {
    /// No values.
    pub fn none() -> Self {
        Self::default()
    }

    /// Values by name, without the `$`.
    pub fn named<N: Into<String>>(values: impl IntoIterator<Item = (N, ScalarValue)>) -> Self {
        let by_name = values.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { by_name, ..Self::default() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_place.is_empty() && self.by_name.is_empty()
    }

    pub(crate) fn into_values(self) -> ParamValues {
        match self.by_name.is_empty() {
            true => ParamValues::from(self.by_place),
            false => ParamValues::from(self.by_name),
        }
    }
}

impl From<Vec<ScalarValue>> for Params {
    fn from(by_place: Vec<ScalarValue>) -> Self {
        Self { by_place, ..Self::default() }
    }
}
