//! Stores that speak S3's language, for what only running them tells: SeaweedFS honours conditions and enforces bucket
//! policies, rclone ignores conditions without a word. `scripts/test` installs both; they listen on loopback only.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::ports::{free_port, free_ports};

/// A running store; it ends when this is dropped.
pub struct Store {
    child: Child,
    address: SocketAddr,
    /// What it keeps, and `log`.
    data: TempDir,
}

impl Store {
    /// `weed server` with its S3 part. `config` holds identities as SeaweedFS writes them; none for anybody.
    pub fn seaweedfs(config: Option<&str>) -> Self {
        Self::start("weed", |data| {
            let [s3, ports @ ..] = free_ports::<8>();
            let flags = [
                "-s3.port.grpc",
                "-master.port",
                "-master.port.grpc",
                "-volume.port",
                "-volume.port.grpc",
                "-filer.port",
                "-filer.port.grpc",
            ];
            let mut command = Command::new(program("weed", "LOCKSHIFT_WEED"));
            command.args([
                "server",
                "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1",
                "-s3",
                "-filer",
                "-volume.max=20",
            ]);
            command.args(["-master.volumeSizeLimitMB=64", "-master.telemetry=false"]);
            command.args(["-s3.port.iceberg=0", "-s3.port.lance=0"]);
            command.args([format!("-dir={}", data.display()), format!("-s3.port={s3}")]);
            command.args(flags.iter().zip(ports).map(|(flag, port)| format!("{flag}={port}")));
            if let Some(config) = config {
                let path = data.join("identities.json");
                std::fs::write(&path, config).unwrap();
                command.arg(format!("-s3.config={}", path.display()));
            }
            (command, s3)
        })
    }

    /// `rclone serve s3`: no identities, no conditions.
    pub fn rclone() -> Self {
        Self::start("rclone", |data| {
            let port = free_port();
            let mut command = Command::new(program("rclone", "LOCKSHIFT_RCLONE"));
            command.args(["serve", "s3", "--config", "/dev/null", "--addr", &format!("127.0.0.1:{port}")]);
            command.arg(data);
            (command, port)
        })
    }

    /// Starts what `command` makes for a directory, with the port that it will answer on. A port can be taken between
    /// our look and the server's start, which then ends: it is tried again with new ones.
    fn start(name: &str, command: impl Fn(&Path) -> (Command, u16)) -> Self {
        let mut said = String::new();
        for _ in 0..5 {
            let data = TempDir::new().unwrap();
            let log = data.path().join("log");
            let (mut command, port) = command(data.path());
            command.stdin(Stdio::null()).stdout(Stdio::null()).current_dir(data.path());
            command.stderr(std::fs::File::create(&log).unwrap());
            let child = command.spawn().unwrap_or_else(|error| {
                panic!("{name} did not start ({error}): run `scripts/test`, which installs it")
            });
            let mut store = Self { child, address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), data };
            if store.comes_up() {
                return store;
            }
            said = store.log();
        }
        panic!("{name} never answered; it said at last: {said}");
    }

    /// Waits until it answers; false when it ended, or did not answer in time.
    fn comes_up(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(120);
        while Instant::now() < deadline {
            // Asked in this order, so that another server on the port is never taken for this one.
            let answered = answers(self.address);
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if answered {
                return true;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        false
    }

    /// What it wrote to its standard error: the last 4,000 characters.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.data.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(log.get(log.len().saturating_sub(4_000)..).unwrap_or_default()).into_owned()
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program that a variable names, else the one that `scripts/test` installs, else the one on `PATH`.
fn program(name: &str, variable: &str) -> PathBuf {
    if let Some(named) = std::env::var_os(variable) {
        return named.into();
    }
    let installed = super::repository().join("target/ci-venv/bin").join(name);
    if installed.exists() { installed } else { name.into() }
}

/// Whether it answers HTTP; a store may listen before it can serve.
fn answers(address: SocketAddr) -> bool {
    use std::io::Write;
    let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(2)) else { return false };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    let asked = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let mut start = [0; 9];
    asked.is_ok() && stream.read_exact(&mut start).is_ok() && start.starts_with(b"HTTP/1.")
}
