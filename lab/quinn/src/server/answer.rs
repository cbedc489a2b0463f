//! Answers `GET /<bytes>/<think in us>`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h3::server::{Connection, RequestResolver};
use jiff::Timestamp;
use quinn::Connecting;

use crate::Failure;
use crate::access_log::{AccessLog, AnsweredRequest};

type SharedAccessLog = Arc<Mutex<AccessLog>>;

/// Serves one connection to its end.
pub async fn serve(connecting: Connecting, connection_id: String, log: SharedAccessLog) {
    if let Err(error) = requests(connecting, &connection_id, &log).await {
        eprintln!("quinn-server: {connection_id}: {error}");
    }
}

async fn requests(connecting: Connecting, connection_id: &str, log: &SharedAccessLog) -> Result<(), Failure> {
    let mut connection = Connection::new(h3_quinn::Connection::new(connecting.await?)).await?;
    // The client's close ends the loop: as Ok(None), or as an error when it comes without GOAWAY.
    while let Ok(Some(resolver)) = connection.accept().await {
        let (connection_id, log) = (connection_id.to_owned(), Arc::clone(log));
        tokio::spawn(async move {
            if let Err(error) = answer(resolver, &connection_id, &log).await {
                eprintln!("quinn-server: {connection_id}: {error}");
            }
        });
    }
    Ok(())
}

async fn answer(
    resolver: RequestResolver<h3_quinn::Connection, Bytes>,
    connection_id: &str,
    log: &SharedAccessLog,
) -> Result<(), Failure> {
    let (head, mut stream) = resolver.resolve_request().await?;
    let (began_at, began) = (Timestamp::now(), Instant::now());
    let mut parts = head.uri().path().split('/').skip(1);
    let (Some(bytes), Some(think_us)) = (parts.next(), parts.next()) else {
        return Err(format!("{} is not /<bytes>/<think in us>", head.uri().path()).into());
    };
    let (bytes, think_us) = (bytes.parse()?, think_us.parse()?);
    tokio::time::sleep(Duration::from_micros(think_us)).await;
    stream.send_response(http::Response::builder().header("content-length", bytes).body(())?).await?;
    stream.send_data(Bytes::from(vec![0; bytes])).await?;
    stream.finish().await?;
    let line = AnsweredRequest {
        began_at,
        began,
        connection_id: connection_id.to_owned(),
        stream_id: stream.id().into_inner(),
        method: head.method().to_string(),
        authority: head.uri().authority().map(ToString::to_string).unwrap_or_default(),
        path: head.uri().path().to_owned(),
        external_id: head.headers().get("x-request-id").and_then(|value| value.to_str().ok()).map(str::to_owned),
        response_bytes: bytes,
    };
    log.lock().map_err(|_| "the access log's writer died")?.write(&line)
}
