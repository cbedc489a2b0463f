//! Batches to Kafka: idempotent producer, `acks=all`, no delivery timeout.

use crate::run::sink::{Message, Patience, Refusal, Sink};
use quiclens_core::topics::Topic;
use rdkafka::ClientConfig;
use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the broker has said.
#[derive(Default)]
struct Reports {
    delivered: AtomicU64,
    failed: Mutex<Option<KafkaError>>,
}

struct Context(Arc<Reports>);

impl ClientContext for Context {}

impl ProducerContext for Context {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(_) => {
                self.0.delivered.fetch_add(1, Ordering::SeqCst);
            }
            Err((error, _)) => {
                if let Ok(mut failed) = self.0.failed.lock() {
                    *failed = Some(error.clone());
                }
            }
        }
    }
}

/// A producer.
pub struct Kafka {
    config: ClientConfig,
    producer: BaseProducer<Context>,
    reports: Arc<Reports>,
    topics: BTreeMap<String, Topic>,
    name: String,
}

/// How long nothing is heard of the broker before a sink that is not to wait gives up.
const SILENCE: Duration = Duration::from_secs(2);

/// How long one wait for the broker's reports lasts.
const POLL: Duration = Duration::from_millis(100);

impl Kafka {
    /// `options` go to librdkafka as they are, over our own.
    pub fn open(brokers: &str, options: &BTreeMap<String, String>, name: &str) -> Result<Self, String> {
        let mut config = ClientConfig::new();
        for (key, value) in [
            ("bootstrap.servers", brokers),
            ("client.id", name),
            ("enable.idempotence", "true"),
            ("acks", "all"),
            // No delivery timeout: what is not delivered is waited for, and the files are not read on.
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
        let (producer, reports) = begin(&config)?;
        Ok(Self { config, producer, reports, topics: quiclens_core::topics::by_table()?, name: name.to_owned() })
    }

    /// Nothing is heard of the broker: what is on its way is forgotten, and may be given again.
    fn give_up(&mut self) -> Refusal {
        match begin(&self.config) {
            Ok(anew) => {
                (self.producer, self.reports) = anew;
                Refusal::Later("Kafka: no answer".into())
            }
            Err(said) => Refusal::Never(said),
        }
    }

    fn produce(&self, message: &Message) -> Result<(), Refusal> {
        let topic = self.topics.get(message.table).copied();
        let topic = topic.ok_or_else(|| Refusal::Never(format!("table {} has no topic", message.table)))?;
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
        loop {
            let owned = headers.iter().fold(OwnedHeaders::new(), |all, (key, value)| {
                all.insert(Header { key, value: Some(value.as_bytes()) })
            });
            let owned = match &heartbeat {
                Some(made) => owned.insert(Header { key: "heartbeat_us", value: Some(made.as_bytes()) }),
                None => owned,
            };
            let record = BaseRecord::<str, [u8]>::to(topic.name).payload(&message.bytes[..]).headers(owned);
            let record = if topic.is_by_collector { record.key(self.name.as_str()) } else { record };
            match self.producer.send(record) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                    self.producer.poll(POLL);
                }
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::MessageSizeTooLarge), _)) => {
                    return Err(Refusal::Never(format!(
                        "{}: a message of {} bytes is too large",
                        topic.name,
                        message.bytes.len()
                    )));
                }
                Err((error, _)) => return Err(Refusal::Later(format!("{}: {error}", topic.name))),
            }
        }
    }
}

fn begin(config: &ClientConfig) -> Result<(BaseProducer<Context>, Arc<Reports>), String> {
    let reports = Arc::new(Reports::default());
    let producer = config
        .create_with_context(Context(Arc::clone(&reports)))
        .map_err(|error| format!("cannot make a Kafka producer: {error}"))?;
    Ok((producer, reports))
}

impl Sink for Kafka {
    fn give(&mut self, messages: &[Message], patience: &Patience<'_>) -> Result<(), Refusal> {
        let wanted = self.reports.delivered.load(Ordering::SeqCst) + messages.len() as u64;
        messages.iter().try_for_each(|message| self.produce(message))?;
        let mut heard = (Instant::now(), self.reports.delivered.load(Ordering::SeqCst));
        while self.reports.delivered.load(Ordering::SeqCst) < wanted {
            self.producer.poll(POLL);
            let delivered = self.reports.delivered.load(Ordering::SeqCst);
            if delivered > heard.1 {
                heard = (Instant::now(), delivered);
            } else if heard.0.elapsed() > SILENCE && !patience() {
                return Err(self.give_up());
            }
            let failed = self.reports.failed.lock().ok().and_then(|mut failed| failed.take());
            if let Some(error) = failed {
                if error.rdkafka_error_code() == Some(RDKafkaErrorCode::MessageSizeTooLarge) {
                    return Err(Refusal::Never(format!(
                        "Kafka: {error}: the topics' max.message.bytes is to be what schema/topics says"
                    )));
                }
                return Err(Refusal::Later(format!("Kafka: {error}")));
            }
            if let Some((code, said)) = self.producer.client().fatal_error() {
                return Err(Refusal::Never(format!("Kafka: {code}: {said}")));
            }
        }
        Ok(())
    }
}
