//! The answer to one `GET /<bytes>/<think in us>`.

use std::time::{Duration, Instant};

use futures_util::SinkExt as _;
use jiff::Timestamp;
use tokio_quiche::http3::driver::{IncomingH3Headers, OutboundFrame};
use tokio_quiche::quiche::h3::{Header, NameValue as _};
use tokio_util::bytes::Bytes;

use crate::Failure;
use crate::access_log::{AccessLog, AnsweredRequest};

/// What is handed over at once: as much as tokio-quiche's own buffers hold.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// Thinks, answers, and logs the request when the rest of its answer was handed over; one that asks for something else
/// is an error.
pub async fn answer(asked: IncomingH3Headers, connection_id: &str, log: &AccessLog) -> Result<(), Failure> {
    let IncomingH3Headers { stream_id, headers, mut send, .. } = asked;
    let (request, think) = match read(stream_id, &headers, connection_id) {
        Ok(read) => read,
        Err(error) => {
            send.send(OutboundFrame::PeerStreamError).await?;
            return Err(error);
        }
    };
    tokio::time::sleep(think).await;
    let mut left = request.response_bytes;
    let head = vec![Header::new(b":status", b"200"), Header::new(b"content-length", left.to_string().as_bytes())];
    send.send(OutboundFrame::Headers(head, None)).await?;
    loop {
        let piece = left.min(ZEROS.len());
        left -= piece;
        send.send(OutboundFrame::Body(Bytes::from_static(&ZEROS[..piece]), left == 0)).await?;
        if left == 0 {
            return log.write(&request);
        }
    }
}

fn read(stream_id: u64, headers: &[Header], connection_id: &str) -> Result<(AnsweredRequest, Duration), Failure> {
    let path = value(headers, b":path").ok_or("a request without a path")?;
    let mut parts = path.split('/').skip(1);
    let (Some(bytes), Some(think_us)) = (parts.next(), parts.next()) else {
        return Err(format!("{path} is not /<bytes>/<think in us>").into());
    };
    let (response_bytes, think_us) = (bytes.parse()?, think_us.parse()?);
    let request = AnsweredRequest {
        began_at: Timestamp::now(),
        began: Instant::now(),
        connection_id: connection_id.to_owned(),
        stream_id,
        method: value(headers, b":method").unwrap_or_default(),
        authority: value(headers, b":authority").unwrap_or_default(),
        path,
        external_id: value(headers, b"x-request-id"),
        response_bytes,
    };
    Ok((request, Duration::from_micros(think_us)))
}

fn value(headers: &[Header], name: &[u8]) -> Option<String> {
    let header = headers.iter().find(|header| header.name() == name)?;
    String::from_utf8(header.value().to_vec()).ok()
}
