//! What a tool is, and how it is offered.

use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
use rmcp::model::{Tool as Described, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::asked::Asked;
use crate::failure::{Failure, Result};

/// Arguments of a tool. Unknown ones are refused, so that a misspelt one is noticed.
pub(crate) trait Arguments: DeserializeOwned + JsonSchema + Send + 'static {
    /// The moment that is read, if it is not now.
    fn at(&self) -> Option<&str>;

    /// How long the call may be worked on, if it is to be less than it may be.
    fn timeout(&self) -> Option<&str> {
        None
    }
}

/// A question that agents ask of a store.
pub(crate) trait Tool {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// What it does and when to use it, for a model that has never seen the store.
    const DESCRIPTION: &'static str;
    type Arguments: Arguments;
    type Answer: Serialize + JsonSchema + 'static;

    fn answer(arguments: Self::Arguments, asked: &Asked) -> Result<Self::Answer>;
}

/// The answer to a call, on its way out.
pub(crate) struct Answered {
    pub(crate) structured: Value,
    /// The same, its members in the order in which they are best read.
    pub(crate) text: String,
}

type Work = Box<dyn FnOnce(&Asked) -> Result<Answered> + Send>;

/// A call whose arguments have been read.
pub(crate) struct Call {
    pub(crate) at: Option<String>,
    pub(crate) timeout: Option<String>,
    pub(crate) work: Work,
}

/// A tool as it is listed and called.
pub(crate) struct Offered {
    pub(crate) described: Described,
    pub(crate) call: fn(Map<String, Value>) -> Result<Call>,
}

impl Offered {
    pub(crate) fn of<T: Tool>() -> std::result::Result<Self, String> {
        let reads = ToolAnnotations::with_title(T::TITLE)
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        let described =
            Described::new(T::NAME, T::DESCRIPTION, schema_for_input::<T::Arguments>()?)
                .with_title(T::TITLE)
                .with_raw_output_schema(schema_for_output::<T::Answer>())
                .with_annotations(reads);
        Ok(Self { described, call: call::<T> })
    }
}

fn call<T: Tool>(arguments: Map<String, Value>) -> Result<Call> {
    let arguments = serde_json::from_value::<T::Arguments>(arguments.into());
    let arguments = arguments.map_err(|error| {
        Failure::new(
            format!("arguments of '{}': {error}", T::NAME),
            "its input schema says which there are",
        )
    })?;
    let (at, timeout) = (arguments.at().map(str::to_owned), arguments.timeout().map(str::to_owned));
    let work = move |asked: &Asked| {
        let answer = T::answer(arguments, asked)?;
        let written =
            |error| Failure::new(format!("the answer can't be written: {error}"), "ask for less");
        let text = serde_json::to_string(&answer).map_err(written)?;
        Ok(Answered { structured: serde_json::to_value(&answer).map_err(written)?, text })
    };
    Ok(Call { at, timeout, work: Box::new(work) })
}
