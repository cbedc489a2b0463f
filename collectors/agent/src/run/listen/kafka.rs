//! The topic of raw lines. Partitions are assigned by the configuration, not by a group: the fold of a connection lives
//! in this collector. Positions come from the spool.

use crate::error::Error;
use crate::run::listen::{Ended, Intake};
use crate::run::spool::Position;
use quiclens_core::reader::skip::Skip;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use std::collections::BTreeMap;
use std::time::Duration;
use tracing::warn;

const POLL: Duration = Duration::from_millis(100);
const ANSWER: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_secs(1);

/// A topic, being read.
pub struct TopicReader {
    consumer: BaseConsumer,
    topic: String,
    partitions: Vec<i32>,
    intake: Intake,
}

/// Why reading ended.
enum ReadingEnd {
    /// It was told to, or the spool broke.
    Ended,
    /// The broker does not answer, or has other messages than before.
    Again(String),
}

impl From<Ended> for ReadingEnd {
    fn from(_: Ended) -> Self {
        Self::Ended
    }
}

impl From<KafkaError> for ReadingEnd {
    fn from(error: KafkaError) -> Self {
        Self::Again(error.to_string())
    }
}

impl TopicReader {
    /// `options` go to librdkafka as they are, over our own. Nothing is asked of the broker yet.
    pub fn open(
        brokers: &str,
        topic: &str,
        partitions: &[i32],
        options: &BTreeMap<String, String>,
        intake: Intake,
    ) -> Result<Self, Error> {
        let mut config = ClientConfig::new();
        for (key, value) in [
            ("bootstrap.servers", brokers),
            // Partitions are assigned by hand and nothing is committed, but librdkafka requires a group.
            ("group.id", "quiclens-collector"),
            ("enable.auto.commit", "false"),
            ("auto.offset.reset", "error"),
            ("queued.max.messages.kbytes", "16384"),
            ("fetch.message.max.bytes", "8388608"),
        ] {
            config.set(key, value);
        }
        for (key, value) in options {
            config.set(key, value);
        }
        let consumer =
            config.create().map_err(|error| Error::configuration(format!("cannot make a Kafka consumer: {error}")))?;
        Ok(Self { consumer, topic: topic.to_owned(), partitions: partitions.to_vec(), intake })
    }

    /// Reads until it is told to stop, or the spool breaks.
    pub fn work(self) {
        while !self.intake.is_stopped() {
            match self.read() {
                Ok(()) | Err(ReadingEnd::Ended) => return,
                Err(ReadingEnd::Again(said)) => {
                    warn!(source = self.topic, "{said}; trying again");
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    fn read(&self) -> Result<(), ReadingEnd> {
        let source = self.assign()?;
        while !self.intake.is_stopped() {
            match self.consumer.poll(POLL) {
                None => {}
                Some(Ok(message)) => {
                    let position = Position::Kafka { partition: message.partition(), offset: message.offset() };
                    let lines = message.payload().unwrap_or_default().to_vec();
                    self.intake.lines(&source, position, lines)?;
                }
                Some(Err(KafkaError::MessageConsumption(RDKafkaErrorCode::AutoOffsetReset))) => {
                    return Err(ReadingEnd::Again("the next message is no longer in the topic".into()));
                }
                // The client goes on by itself.
                Some(Err(error)) => warn!(source = self.topic, "{error}"),
            }
        }
        Ok(())
    }

    /// Takes up each partition after its newest message in the spool. Returns the source's name there: a position
    /// belongs to one cluster.
    fn assign(&self) -> Result<String, ReadingEnd> {
        let cluster =
            self.consumer.client().fetch_cluster_id(ANSWER).ok_or_else(|| ReadingEnd::Again("no answer".into()))?;
        let source = format!("kafka:{cluster}/{}", self.topic);
        let metadata = self.consumer.fetch_metadata(Some(&self.topic), ANSWER)?;
        let known: Vec<i32> =
            metadata.topics().iter().flat_map(|topic| topic.partitions()).map(|partition| partition.id()).collect();
        if known.is_empty() {
            return Err(ReadingEnd::Again("no such topic".into()));
        }
        if let Some(missing) = self.partitions.iter().find(|partition| !known.contains(partition)) {
            return Err(ReadingEnd::Again(format!("no partition {missing}")));
        }
        let mut list = TopicPartitionList::new();
        for partition in if self.partitions.is_empty() { known } else { self.partitions.clone() } {
            let (low, high) = self.consumer.fetch_watermarks(&self.topic, partition, ANSWER)?;
            let next = match self.intake.spool.position(&source, partition) {
                Some(Position::Kafka { offset, .. }) => offset + 1,
                _ => low,
            };
            let begin = if (low..=high).contains(&next) { next } else { low };
            if begin != next {
                let said = format!("partition {partition}: offset {next} is wanted, {low} to {high} are there");
                warn!(source, "{said}");
                let position = Position::Kafka { partition, offset: begin - 1 };
                self.intake.reject(&source, position, Skip::SourceLost, 0, said.as_bytes())?;
            }
            list.add_partition_offset(&self.topic, partition, Offset::Offset(begin))?;
        }
        self.consumer.assign(&list)?;
        Ok(source)
    }
}
