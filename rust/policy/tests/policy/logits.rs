//! The exact cost of each selected worker, from the log line that Dynamo writes for a selection.
//!
//! Dynamo's default scorer is private; this is how its costs are observed to the last bit.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Run `select` and return its value with the cost of every worker selected meanwhile, in order.
pub fn observe<T>(select: impl FnOnce() -> T) -> (T, Vec<f64>) {
    let observer = Observer::default();
    let logits = Arc::clone(&observer.logits);
    let value = tracing::subscriber::with_default(observer, select);
    let logits = std::mem::take(&mut *logits.lock().unwrap());
    (value, logits)
}

#[derive(Default)]
struct Observer {
    logits: Arc<Mutex<Vec<f64>>>,
}

impl Subscriber for Observer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.fields().field("logit").is_some()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut logit = Logit(None);
        event.record(&mut logit);
        self.logits.lock().unwrap().extend(logit.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Logit(Option<f64>);

impl Visit for Logit {
    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "logit" {
            self.0 = Some(value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
