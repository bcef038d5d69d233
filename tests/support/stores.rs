//! Stores that speak S3's language, for what only running them tells: SeaweedFS honours conditions and enforces bucket
//! policies, rclone ignores conditions without a word. `scripts/test` installs both; they listen on loopback only.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running store; it ends when this is dropped.
pub struct Store {
    child: Child,
    address: SocketAddr,
    _data: TempDir,
}

impl Store {
    /// `weed server` with its S3 part. `config` holds identities as SeaweedFS writes them; none for anybody.
    pub fn seaweedfs(config: Option<&str>) -> Self {
        let data = TempDir::new().unwrap();
        let [s3, master, volume, filer] = [free_port(), free_port(), free_port(), free_port()];
        let mut command = Command::new(program("weed", "LOCKSHIFT_WEED"));
        command.args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-filer", "-volume.max=20"]);
        command.args([
            format!("-dir={}", data.path().display()),
            format!("-s3.port={s3}"),
            format!("-master.port={master}"),
            format!("-volume.port={volume}"),
            format!("-filer.port={filer}"),
            format!("-master.port.grpc={}", free_port()),
            format!("-volume.port.grpc={}", free_port()),
            format!("-filer.port.grpc={}", free_port()),
            format!("-s3.port.grpc={}", free_port()),
            "-s3.port.iceberg=0".to_owned(),
            "-s3.port.lance=0".to_owned(),
        ]);
        if let Some(config) = config {
            let path = data.path().join("identities.json");
            std::fs::write(&path, config).unwrap();
            command.arg(format!("-s3.config={}", path.display()));
        }
        Self::start(command, s3, data)
    }

    /// `rclone serve s3`: no identities, no conditions.
    pub fn rclone() -> Self {
        let data = TempDir::new().unwrap();
        let port = free_port();
        let mut command = Command::new(program("rclone", "LOCKSHIFT_RCLONE"));
        command.args(["serve", "s3", "--config", "/dev/null", "--addr", &format!("127.0.0.1:{port}")]);
        command.arg(data.path());
        Self::start(command, port, data)
    }

    fn start(mut command: Command, port: u16, data: TempDir) -> Self {
        let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_owned();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir(data.path());
        let child = command.spawn().unwrap_or_else(|error| {
            panic!("{} did not start ({error}): run `scripts/test`, which installs it", name.display())
        });
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut store = Self { child, address, _data: data };
        let deadline = Instant::now() + Duration::from_secs(90);
        while !answers(address) {
            let ended = store.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{} never answered", name.display());
            std::thread::sleep(Duration::from_millis(200));
        }
        store
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

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
    listener.local_addr().expect("a bound socket has an address").port()
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
