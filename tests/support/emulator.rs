//! A moto server on a free loopback port: S3, DynamoDB, IAM and STS for the real terraform to talk to.
//! Speaks plain HTTP by itself, so that no test needs a client library.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A running emulator; it ends when this is dropped.
pub struct Emulator {
    child: Child,
    address: SocketAddr,
}

/// Emulators that are [`Emulator::alone`] run one at a time: five of them, each with a terraform, on two processors
/// made an apply fail to take its lock once, in a table that nobody else used.
static ALONE: Mutex<()> = Mutex::new(());

impl Emulator {
    /// Starts the only one of this program, with the bucket `states` and the lock table `locks`; it is the only one
    /// until the guard is dropped.
    pub fn alone() -> (Self, MutexGuard<'static, ()>) {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let emulator = Self::start();
        emulator.create_bucket("states");
        emulator.create_lock_table("locks");
        (emulator, alone)
    }

    /// Starts one and waits until it answers. Panics with what to do when it can't.
    pub fn start() -> Self {
        // The port is free when we look, and somebody else may take it before the server does: try again.
        for _ in 0..5 {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, super::ports::free_port()));
            let mut child = spawn(address);
            if answers(&mut child, address) {
                return Self { child, address };
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!(
            "moto_server started but never answered: run `scripts/test`, which installs the pinned version."
        );
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes a bucket (region us-east-1).
    pub fn create_bucket(&self, name: &str) {
        let (status, body) = self.request("PUT", &format!("/{name}"), &[], b"");
        assert_eq!(status, 200, "bucket {name} was not created: {body}");
    }

    /// Makes a lock table: one string hash key called `LockID`.
    pub fn create_lock_table(&self, name: &str) {
        let body = format!(
            r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"LockID","AttributeType":"S"}}],"KeySchema":[{{"AttributeName":"LockID","KeyType":"HASH"}}]}}"#
        );
        let headers = [
            ("X-Amz-Target", "DynamoDB_20120810.CreateTable"),
            ("Content-Type", "application/x-amz-json-1.0"),
            authorization("dynamodb"),
        ];
        let (status, body) = self.request("POST", "/", &headers, body.as_bytes());
        assert_eq!(status, 200, "table {name} was not created: {body}");
    }

    /// Keeps versions from now on (`Enabled`), or no longer (`Suspended`).
    pub fn set_versioning(&self, bucket: &str, status: &str) {
        let body = format!("<VersioningConfiguration><Status>{status}</Status></VersioningConfiguration>");
        let (code, answer) = self.request("PUT", &format!("/{bucket}?versioning"), &[], body.as_bytes());
        assert_eq!(code, 200, "{answer}");
    }

    /// Writes an object.
    pub fn put(&self, bucket: &str, key: &str, body: &str) {
        let (code, answer) =
            self.request("PUT", &format!("/{bucket}/{key}"), &[authorization("s3")], body.as_bytes());
        assert_eq!(code, 200, "{answer}");
    }

    /// Deletes an object.
    pub fn delete(&self, bucket: &str, key: &str) {
        let (code, answer) = self.request("DELETE", &format!("/{bucket}/{key}"), &[authorization("s3")], b"");
        assert_eq!(code, 204, "{answer}");
    }

    /// Writes an item: its `LockID` and one more text attribute.
    pub fn put_item(&self, table: &str, lock_id: &str, attribute: &str, text: &str) {
        let item = serde_json::json!({ "LockID": { "S": lock_id }, attribute: { "S": text } });
        self.dynamodb("PutItem", &serde_json::json!({ "TableName": table, "Item": item }));
    }

    /// One HTTP request: status and body.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        exchange(self.address, method, path, headers, body)
            .unwrap_or_else(|error| panic!("emulator: {method} {path}: {error}"))
    }
}

/// What the stores hold, read past every client library.
impl Emulator {
    /// The ID in the `.tflock` object of a state.
    pub fn lock_in_s3(&self, bucket: &str, state_path: &str) -> Option<String> {
        let path = format!("/{bucket}/{}.tflock", state_path.replace(':', "%3A"));
        let (status, body) = self.request("GET", &path, &[authorization("s3")], b"");
        if status == 404 {
            return None;
        }
        assert_eq!(status, 200, "{body}");
        let info: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        Some(info["ID"].as_str().expect("a lock has an ID").to_owned())
    }

    /// The ID in the lock item of a state.
    pub fn lock_in_dynamodb(&self, table: &str, lock_id: &str) -> Option<String> {
        let item = self.item(table, "GetItem", lock_id);
        let info = item["Item"]["Info"]["S"].as_str()?;
        let info: Value = serde_json::from_str(info).expect("a lock item holds a lock document");
        Some(info["ID"].as_str().expect("a lock has an ID").to_owned())
    }

    /// `GetItem` or `DeleteItem` of one item.
    pub fn item(&self, table: &str, operation: &str, lock_id: &str) -> Value {
        let key = serde_json::json!({ "LockID": { "S": lock_id } });
        self.dynamodb(operation, &serde_json::json!({ "TableName": table, "Key": key }))
    }

    /// One call of DynamoDB; panics unless it succeeds.
    pub fn dynamodb(&self, operation: &str, body: &Value) -> Value {
        let target = format!("DynamoDB_20120810.{operation}");
        let headers = [
            ("X-Amz-Target", target.as_str()),
            ("Content-Type", "application/x-amz-json-1.0"),
            authorization("dynamodb"),
        ];
        let (status, body) = self.request("POST", "/", &headers, body.to_string().as_bytes());
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).expect("DynamoDB answers in JSON")
    }

    /// One call of IAM; panics unless it succeeds.
    pub fn iam(&self, parameters: &[(&str, &str)]) {
        let encoded = |text: &str| -> String {
            let plain = |byte: u8| byte.is_ascii_alphanumeric();
            text.bytes()
                .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
                .collect()
        };
        let form: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Authorization", "AWS4-HMAC-SHA256 Credential=emulator/20260101/us-east-1/iam/aws4_request"),
        ];
        let body = format!("{}&Version=2010-05-08", form.join("&"));
        let (status, answer) = self.request("POST", "/", &headers, body.as_bytes());
        assert_eq!(status, 200, "{answer}");
    }

    /// One call of KMS; panics unless it succeeds.
    pub fn kms(&self, operation: &str, body: &Value) -> Value {
        let target = format!("TrentService.{operation}");
        let headers = [
            ("X-Amz-Target", target.as_str()),
            ("Content-Type", "application/x-amz-json-1.1"),
            ("Authorization", "AWS4-HMAC-SHA256 Credential=emulator/20260101/us-east-1/kms/aws4_request"),
        ];
        let (status, answer) = self.request("POST", "/", &headers, body.to_string().as_bytes());
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).expect("KMS answers in JSON")
    }

    /// Puts one of a bucket's settings, such as `encryption`.
    pub fn configure(&self, bucket: &str, setting: &str, xml: &str) {
        let path = format!("/{bucket}?{setting}");
        let (status, answer) = self.request("PUT", &path, &[authorization("s3")], xml.as_bytes());
        assert_eq!(status, 200, "{answer}");
    }

    /// The version that is current.
    pub fn newest_version(&self, bucket: &str, key: &str) -> String {
        let path = format!("/{bucket}?versions&prefix={key}");
        let (status, body) = self.request("GET", &path, &[authorization("s3")], b"");
        assert_eq!(status, 200, "{body}");
        let marked = body
            .split("<Version>")
            .find(|version| {
                version.contains(&format!("<Key>{key}</Key>"))
                    && version.contains("<IsLatest>true</IsLatest>")
            })
            .unwrap_or_else(|| panic!("no current version: {body}"));
        let (_, rest) = marked.split_once("<VersionId>").expect("a version has an ID");
        rest.split_once("</VersionId>").expect("the ID ends").0.to_owned()
    }
}

/// A signature that the emulator does not check; it tells the service from it.
fn authorization(service: &str) -> (&'static str, &'static str) {
    let value = match service {
        "s3" => "AWS4-HMAC-SHA256 Credential=emulator/20260101/us-east-1/s3/aws4_request",
        _ => "AWS4-HMAC-SHA256 Credential=emulator/20260101/us-east-1/dynamodb/aws4_request",
    };
    ("Authorization", value)
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(address: SocketAddr) -> Child {
    let program = program();
    Command::new(&program)
        .args(["-H", "127.0.0.1", "-p", &address.port().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| {
            panic!(
                "{} did not start ({error}). The oracle tests need moto's server: run `scripts/test`, which \
                 installs it, or name one in LOCKSHIFT_MOTO.",
                program.display()
            )
        })
}

/// `LOCKSHIFT_MOTO`, else the one that `scripts/test` installs, else the one on `PATH`.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("LOCKSHIFT_MOTO") {
        return named.into();
    }
    let installed = super::repository().join("target/ci-venv/bin/moto_server");
    if installed.exists() { installed } else { "moto_server".into() }
}

fn answers(child: &mut Child, address: SocketAddr) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        // Asked in this order, so that another server on the port is never taken for this one.
        let answered =
            exchange(address, "GET", "/moto-api/", &[], b"").is_ok_and(|(status, _)| status == 200);
        if child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return false;
        }
        if answered {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// One HTTP request to any server on loopback: status and body.
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (u16, String) {
    exchange(address, method, path, headers, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    status.map(|status| (status, body.to_owned())).ok_or_else(|| std::io::Error::other("no HTTP status line"))
}
