//! A Chromium without a window, driven through its own driver.

use super::job::{free_port, wait_until};
use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use fantoccini::key::Key;
use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Reason why a browser cannot be driven.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrowserError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("no session with the browser: {0}")]
    Session(#[from] fantoccini::error::NewSessionError),
    #[error("the browser: {0}")]
    Command(#[from] fantoccini::error::CmdError),
}

/// A browser with one page.
pub(super) struct Browser {
    client: Client,
    driver: Child,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Browser {
    /// Starts a driver and a browser that finds this host alone.
    pub(super) async fn open(arguments: &[String]) -> Result<Self, BrowserError> {
        let port = free_port();
        let mut driver = Command::new("chromedriver");
        driver.arg(format!("--port={port}")).stdout(Stdio::null()).stderr(Stdio::null());
        let driver = driver.spawn()?;
        wait_until("the driver listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        let mut all = vec![
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--enable-precise-memory-info".to_owned(),
            "--js-flags=--expose-gc".to_owned(),
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1".to_owned(),
        ];
        all.extend(arguments.iter().cloned());
        let mut wanted = Capabilities::new();
        wanted.insert("goog:chromeOptions".into(), json!({ "args": all }));
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let client = builder.capabilities(wanted).connect(&format!("http://127.0.0.1:{port}")).await?;
        Ok(Self { client, driver })
    }

    pub(super) async fn goto(&self, url: &str) -> Result<(), BrowserError> {
        Ok(self.client.goto(url).await?)
    }

    pub(super) async fn wait(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn value(&self, expression: &str) -> Result<Value, BrowserError> {
        Ok(self.client.execute(&format!("return {expression};"), Vec::new()).await?)
    }

    /// An expression of the page's script, as a number; NaN if it is not one.
    pub(super) async fn number(&self, expression: &str) -> Result<f64, BrowserError> {
        Ok(self.value(expression).await?.as_f64().unwrap_or(f64::NAN))
    }

    pub(super) async fn is_true(&self, expression: &str) -> Result<bool, BrowserError> {
        Ok(self.value(expression).await? == Value::Bool(true))
    }

    pub(super) async fn string(&self, expression: &str) -> Result<String, BrowserError> {
        Ok(self.value(expression).await?.as_str().unwrap_or_default().to_owned())
    }

    /// The text of a part.
    pub(super) async fn text(&self, id: &str) -> Result<String, BrowserError> {
        self.string(&format!("document.getElementById('{id}').innerText")).await
    }

    /// Bytes that the page's script holds after a collection.
    pub(super) async fn heap(&self) -> Result<f64, BrowserError> {
        self.number("(window.gc && window.gc(), performance.memory.usedJSHeapSize)").await
    }

    pub(super) async fn type_into(&self, css: &str, text: &str) -> Result<(), BrowserError> {
        let field = self.client.find(Locator::Css(css)).await?;
        field.click().await?;
        Ok(field.send_keys(text).await?)
    }

    pub(super) async fn press_tab(&self) -> Result<(), BrowserError> {
        let tab = Key::Tab.into();
        let keys =
            KeyActions::new("keys".into()).then(KeyAction::Down { value: tab }).then(KeyAction::Up { value: tab });
        Ok(self.client.perform_actions(keys).await?)
    }

    pub(super) async fn close(self) -> Result<(), BrowserError> {
        Ok(self.client.clone().close().await?)
    }
}
