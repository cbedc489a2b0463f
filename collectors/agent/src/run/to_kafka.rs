//! Batches to Kafka: idempotent producer, `acks=all`, no delivery timeout.

use crate::error::{Error, FailureKind};
use crate::machine;
use crate::run::sink::{Message, Patience, Sink};
use quiclens_core::topics::Topic;
use rdkafka::ClientConfig;
use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::{debug, warn};

/// The delivery reports of one attempt to send messages. Reports of an earlier attempt are ignored: its messages may
/// have been sent again by now.
#[derive(Default)]
pub struct Attempt {
    number: u64,
    /// Which of the messages were delivered.
    delivered: BTreeSet<usize>,
    /// The first that was not, and why.
    failed: Option<(usize, KafkaError)>,
    /// The brokers refuse authentication, or TLS fails.
    refused: Option<String>,
}

impl Attempt {
    /// What was said of one message.
    pub fn hear(&mut self, said: Result<(), &KafkaError>, (number, index): (u64, usize)) {
        if number != self.number {
            return;
        }
        match said {
            Ok(()) => drop(self.delivered.insert(index)),
            Err(error) => drop(self.failed.get_or_insert_with(|| (index, error.clone()))),
        }
    }
}

/// Shared with whoever hears the broker.
pub type SharedAttempt = Arc<Mutex<Attempt>>;

struct Context(SharedAttempt);

impl ClientContext for Context {
    fn error(&self, error: KafkaError, reason: &str) {
        let is_refusal = matches!(
            error.rdkafka_error_code(),
            Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed | RDKafkaErrorCode::SSL)
        );
        if is_refusal {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).refused = Some(reason.to_owned());
        } else {
            debug!("Kafka: {error}: {reason}");
        }
    }
}

impl ProducerContext for Context {
    /// Number of the attempt, and of the message in it.
    type DeliveryOpaque = Box<(u64, usize)>;

    fn delivery(&self, result: &DeliveryResult<'_>, tag: Self::DeliveryOpaque) {
        let mut attempt = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        attempt.hear(result.as_ref().map(|_| ()).map_err(|(error, _)| error), *tag);
    }
}

/// The way to the brokers: one producer.
pub trait Broker: Send {
    /// Puts a message on its way; false when the queue is full.
    fn produce(&self, message: &Message, tag: (u64, usize)) -> Result<bool, AttemptEnd>;
    /// Waits, at most so long, for what the brokers say, and tells the attempt.
    fn poll(&self, most: Duration);
    /// The fatal error of the producer, if it has one.
    fn fatal(&self) -> Option<String>;
}

/// Makes a producer whose reports go to an attempt.
type ProducerFactory = Box<dyn Fn(&SharedAttempt) -> Result<Box<dyn Broker>, Error> + Send>;

/// The sink.
pub struct Kafka {
    begin: ProducerFactory,
    broker: Box<dyn Broker>,
    attempt: SharedAttempt,
    /// Messages of more bytes were too large for the broker.
    largest: usize,
}

/// Why an attempt ended.
pub enum AttemptEnd {
    /// The broker does not take messages so large as this one.
    TooLarge(usize),
    /// The producer has a fatal error, or the broker does not answer: another producer is made.
    Anew(String),
    /// It is not taken.
    Refused(Error),
}

/// How long nothing is heard of the broker before a sink that is not to wait gives up.
const SILENCE: Duration = Duration::from_secs(2);

/// How long one wait for the broker's reports lasts.
const POLL: Duration = Duration::from_millis(100);

impl Kafka {
    /// `options` go to librdkafka as they are, over our own.
    pub fn open(brokers: &str, options: &BTreeMap<String, String>, name: &str) -> Result<Self, Error> {
        let mut config = ClientConfig::new();
        for (key, value) in [
            ("bootstrap.servers", brokers),
            ("client.id", name),
            ("enable.idempotence", "true"),
            ("acks", "all"),
            // No delivery timeout: the sink waits for the delivery, and reading stops meanwhile.
            ("message.timeout.ms", "0"),
            ("compression.type", "none"),
            ("message.max.bytes", "33554432"),
            ("queue.buffering.max.kbytes", "262144"),
            ("linger.ms", "5"),
        ] {
            config.set(key, value);
        }
        for (key, value) in options {
            config.set(key, value);
        }
        let (topics, name) = (quiclens_core::topics::by_table().map_err(Error::internal)?, name.to_owned());
        Self::of(Box::new(move |attempt| {
            let context = Context(Arc::clone(attempt));
            let producer = config
                .create_with_context(context)
                .map_err(|error| Error::configuration(format!("cannot make a Kafka producer: {error}")))?;
            Ok(Box::new(Librdkafka { producer, topics: topics.clone(), name: name.clone() }))
        }))
    }

    /// Of producers that `begin` makes.
    pub fn of(begin: ProducerFactory) -> Result<Self, Error> {
        let attempt = SharedAttempt::default();
        let broker = begin(&attempt)?;
        Ok(Self { begin, broker, attempt, largest: usize::MAX })
    }

    fn attempt(&self) -> MutexGuard<'_, Attempt> {
        self.attempt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes another producer. Messages in flight are forgotten, and may be sent again.
    fn anew(&mut self, why: String) -> Error {
        match (self.begin)(&self.attempt) {
            Ok(broker) => {
                self.broker = broker;
                Error::new(FailureKind::SinkAway, "Kafka", why)
            }
            Err(error) => error,
        }
    }

    /// Gives messages away once, and waits until the broker has all of them.
    fn try_once(&self, messages: &[Message], patience: &Patience<'_>) -> Result<(), AttemptEnd> {
        let number = {
            let mut attempt = self.attempt();
            *attempt = Attempt { number: attempt.number + 1, ..Attempt::default() };
            attempt.number
        };
        let mut heard = (machine::now(), 0);
        for (index, message) in messages.iter().enumerate() {
            while !self.broker.produce(message, (number, index))? {
                self.listen(messages, &mut heard, patience)?;
            }
        }
        while self.attempt().delivered.len() < messages.len() {
            self.listen(messages, &mut heard, patience)?;
        }
        Ok(())
    }

    /// Waits a moment for what the broker says; `heard` is when it said something last, and how much there was then.
    fn listen(
        &self,
        messages: &[Message],
        heard: &mut (Instant, usize),
        patience: &Patience<'_>,
    ) -> Result<(), AttemptEnd> {
        self.broker.poll(POLL);
        let (delivered, failed, refused) = {
            let mut attempt = self.attempt();
            (attempt.delivered.len(), attempt.failed.take(), attempt.refused.take())
        };
        if let Some(why) = refused {
            return Err(AttemptEnd::Refused(Error::new(FailureKind::NotLetIn, "Kafka", why)));
        }
        if let Some(why) = self.broker.fatal() {
            return Err(AttemptEnd::Anew(why));
        }
        match failed {
            Some((index, error)) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::MessageSizeTooLarge) => {
                return Err(AttemptEnd::TooLarge(messages.get(index).map_or(0, |message| message.bytes.len())));
            }
            Some((_, error)) => return Err(AttemptEnd::Refused(Error::new(FailureKind::SinkAway, "Kafka", error))),
            None => {}
        }
        let now = machine::now();
        if delivered > heard.1 {
            *heard = (now, delivered);
        } else if now.duration_since(heard.0) > SILENCE && !patience() {
            return Err(AttemptEnd::Anew("no answer".into()));
        }
        Ok(())
    }
}

/// The producer of librdkafka.
struct Librdkafka {
    producer: BaseProducer<Context>,
    topics: BTreeMap<String, Topic>,
    name: String,
}

impl Broker for Librdkafka {
    fn produce(&self, message: &Message, tag: (u64, usize)) -> Result<bool, AttemptEnd> {
        let topic = self.topics.get(message.table).copied();
        let topic = topic
            .ok_or_else(|| AttemptEnd::Refused(Error::internal(format!("table {} has no topic", message.table))))?;
        let (rows, made) = (message.rows.to_string(), message.made_us.to_string());
        let catalogue = crate::run::catalogue_version();
        let heartbeat = message.heartbeat_us.map(|made| made.to_string());
        let headers = [
            ("table", message.table),
            ("rows", &rows),
            ("catalogue", &catalogue),
            ("collector", &self.name),
            ("batch", &message.batch),
            ("made_us", &made),
        ];
        let owned = headers
            .iter()
            .fold(OwnedHeaders::new(), |all, (key, value)| all.insert(Header { key, value: Some(value.as_bytes()) }));
        let owned = match &heartbeat {
            Some(made) => owned.insert(Header { key: "heartbeat_us", value: Some(made.as_bytes()) }),
            None => owned,
        };
        let record = BaseRecord::<str, [u8], _>::with_opaque_to(topic.name, Box::new(tag));
        let record = record.payload(&message.bytes[..]).headers(owned);
        let record = if topic.is_by_collector { record.key(self.name.as_str()) } else { record };
        match self.producer.send(record) {
            Ok(()) => Ok(true),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => Ok(false),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::MessageSizeTooLarge), _)) => {
                Err(AttemptEnd::TooLarge(message.bytes.len()))
            }
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::Fatal), _)) => {
                let (code, said) = self.producer.client().fatal_error().unzip();
                Err(AttemptEnd::Anew(format!("{code:?}: {}", said.unwrap_or_default())))
            }
            Err((error, _)) => Err(AttemptEnd::Refused(Error::new(FailureKind::SinkAway, topic.name, error))),
        }
    }

    fn poll(&self, most: Duration) {
        self.producer.poll(most);
    }

    fn fatal(&self) -> Option<String> {
        self.producer.client().fatal_error().map(|(code, said)| format!("{code}: {said}"))
    }
}

impl Sink for Kafka {
    fn give(&mut self, messages: &[Message], patience: &Patience<'_>) -> Result<(), Error> {
        let mut messages = messages.to_vec();
        loop {
            messages = smaller(messages, self.largest)?;
            match self.try_once(&messages, patience) {
                Ok(()) => return Ok(()),
                Err(AttemptEnd::TooLarge(bytes)) => {
                    warn!(bytes, "Kafka: the message is too large for the broker; it is split in halves");
                    self.largest = self.largest.min(bytes.saturating_sub(1));
                }
                Err(AttemptEnd::Anew(why)) => return Err(self.anew(why)),
                Err(AttemptEnd::Refused(refusal)) => return Err(refusal),
            }
        }
    }
}

/// The messages, those that are larger than `largest` in halves.
fn smaller(messages: Vec<Message>, largest: usize) -> Result<Vec<Message>, Error> {
    let mut all = Vec::with_capacity(messages.len());
    for message in messages {
        if message.bytes.len() <= largest {
            all.push(message);
        } else {
            let halves = message.halves()?.ok_or_else(|| {
                let (table, bytes) = (message.table, message.bytes.len());
                let said = format!("one row of {table} has {bytes} bytes: max.message.bytes is too small");
                Error::new(FailureKind::SinkRefuses, "Kafka", said)
            })?;
            all.append(&mut smaller(halves.into(), largest)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_attempt_delivered_counts_for_nothing() {
        let mut attempt = Attempt { number: 2, ..Attempt::default() };
        attempt.hear(Ok(()), (1, 0));
        attempt.hear(Err(&KafkaError::Canceled), (1, 1));
        assert!(attempt.delivered.is_empty() && attempt.failed.is_none());
        attempt.hear(Ok(()), (2, 1));
        attempt.hear(Ok(()), (2, 1));
        assert_eq!(attempt.delivered.len(), 1, "one message, told twice");
        attempt.hear(Err(&KafkaError::Canceled), (2, 0));
        assert_eq!(attempt.failed.map(|(index, _)| index), Some(0));
    }
}
