//! One connection: each of its requests is answered by a task of its own.

use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio_quiche::http3::driver::{H3Event, ServerH3Event};
use tokio_quiche::http3::settings::Http3Settings;
use tokio_quiche::metrics::DefaultMetrics;
use tokio_quiche::{InitialQuicConnection, ServerH3Controller, ServerH3Driver};

use crate::access_log::AccessLog;
use crate::answer;

/// Serves a connection until it is over, beside others.
pub fn serve(connection: InitialQuicConnection<UdpSocket, DefaultMetrics>, log: &Arc<AccessLog>) {
    let (driver, controller) = ServerH3Driver::new(Http3Settings::default());
    let name = format!("{:?}", connection.start(driver).scid()); // hex, as its log is named
    tokio::spawn(requests(controller, name, Arc::clone(log)));
}

async fn requests(mut controller: ServerH3Controller, name: String, log: Arc<AccessLog>) {
    while let Some(event) = controller.event_receiver_mut().recv().await {
        match event {
            ServerH3Event::Headers { incoming_headers, .. } => {
                let (name, log) = (name.clone(), Arc::clone(&log));
                tokio::spawn(async move {
                    if let Err(error) = answer::answer(incoming_headers, &name, &log).await {
                        eprintln!("quiche-server: {name}: {error}");
                    }
                });
            }
            ServerH3Event::Core(H3Event::ConnectionError(error)) => eprintln!("quiche-server: {name}: {error}"),
            ServerH3Event::Core(_) => {}
        }
    }
}
