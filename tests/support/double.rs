//! A store made by hand: a small HTTP server on loopback that says what a test tells it to say, faults included.
//! What the test leaves open it answers as an empty, unversioned bucket without any settings would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a client asked.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Percent-encoding undone.
    pub query: Vec<(String, String)>,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// What it is answered.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Status, extra headers, body.
    Http(u16, Vec<(String, String)>, Vec<u8>),
    /// The connection ends without an answer.
    Cut,
    /// The connection ends within the body.
    CutWithin(Vec<u8>),
}

type Handler = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

/// A running double; its threads end with the test.
pub struct Double {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Request {
    /// The value of a query parameter; empty for one without a value.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The bucket, in path style.
    pub fn bucket(&self) -> &str {
        self.path.trim_start_matches('/').split('/').next().unwrap_or_default()
    }

    /// The key, in path style; empty for the bucket itself.
    pub fn key(&self) -> &str {
        self.path.trim_start_matches('/').split_once('/').map_or("", |(_, key)| key)
    }

    /// It lists current objects.
    pub fn lists(&self) -> bool {
        self.parameter("list-type") == Some("2")
    }

    /// It lists versions.
    pub fn lists_versions(&self) -> bool {
        self.parameter("versions").is_some()
    }

    /// DynamoDB's operation.
    pub fn target(&self) -> &str {
        self.header("x-amz-target").and_then(|target| target.split('.').nth(1)).unwrap_or_default()
    }
}

impl Reply {
    /// 200 with XML or JSON.
    pub fn ok(body: impl Into<String>) -> Self {
        Self::Http(200, Vec::new(), body.into().into_bytes())
    }

    /// An error of S3.
    pub fn error(status: u16, code: &str) -> Self {
        let body = format!("<Error><Code>{code}</Code><Message>made by the test</Message></Error>");
        Self::Http(status, Vec::new(), body.into_bytes())
    }

    /// An error of DynamoDB.
    pub fn dynamodb_error(code: &str) -> Self {
        let body =
            format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"made by the test"}}"#);
        Self::Http(400, Vec::new(), body.into_bytes())
    }
}

impl Double {
    /// Starts a store. Where `handler` says nothing, the empty bucket answers.
    pub fn start(handler: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (handler, log): (Arc<Handler>, _) = (Arc::new(handler), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (handler, log) = (Arc::clone(&handler), Arc::clone(&log));
                std::thread::spawn(move || serve(stream, &*handler, &log));
            }
        });
        Self { address, seen }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, in the order in which they came.
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().expect("no test panics while it holds this").clone()
    }
}

fn serve(stream: TcpStream, handler: &Handler, log: &Mutex<Vec<Request>>) {
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        log.lock().expect("no test panics while it holds this").push(request.clone());
        let reply = handler(&request).unwrap_or_else(|| empty_bucket(&request));
        let (status, headers, body, length) = match reply {
            Reply::Cut => return,
            Reply::CutWithin(body) => (200, Vec::new(), body.clone(), body.len() + 1000),
            Reply::Http(status, headers, body) => (status, headers, body.clone(), body.len()),
        };
        let mut head = format!(
            "HTTP/1.1 {status} X\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\nContent-Length: {length}\r\n"
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let sent = writer.write_all(head.as_bytes());
        let body = if request.method == "HEAD" { Vec::new() } else { body };
        let sent = sent.and_then(|()| writer.write_all(&body)).and_then(|()| writer.flush());
        if sent.is_err() || length > body.len() && request.method != "HEAD" {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut first = line.split_whitespace();
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let query = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    Some(Request {
        method,
        path: decoded(path),
        query: query.map(|(name, value)| (decoded(name), decoded(value))).collect(),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What a bucket without anything says.
fn empty_bucket(request: &Request) -> Reply {
    let absent = [
        ("object-lock", "ObjectLockConfigurationNotFoundError"),
        ("lifecycle", "NoSuchLifecycleConfiguration"),
        ("policy", "NoSuchBucketPolicy"),
        ("publicAccessBlock", "NoSuchPublicAccessBlockConfiguration"),
        ("ownershipControls", "OwnershipControlsNotFoundError"),
        ("encryption", "ServerSideEncryptionConfigurationNotFoundError"),
        ("replication", "ReplicationConfigurationNotFoundError"),
    ];
    if request.parameter("versioning").is_some() {
        return Reply::ok("<VersioningConfiguration/>");
    }
    if let Some((_, code)) = absent.iter().find(|(name, _)| request.parameter(name).is_some()) {
        return Reply::error(404, code);
    }
    if request.lists() {
        return Reply::ok("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>");
    }
    if request.lists_versions() {
        return Reply::ok("<ListVersionsResult><IsTruncated>false</IsTruncated></ListVersionsResult>");
    }
    match request.target() {
        "DescribeTable" => Reply::ok(
            r#"{"Table":{"TableName":"locks","TableArn":"arn:aws:dynamodb:us-east-1:111122223333:table/locks","ItemCount":0,"KeySchema":[{"AttributeName":"LockID","KeyType":"HASH"}]}}"#,
        ),
        "Scan" => Reply::ok(r#"{"Items":[],"Count":0,"ScannedCount":0}"#),
        "GetItem" => Reply::ok("{}"),
        _ => Reply::error(404, "NoSuchKey"),
    }
}
